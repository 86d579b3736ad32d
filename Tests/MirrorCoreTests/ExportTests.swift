import MirrorCache
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCore

/// What a cache holds, written as plain files: whatever the keys, nothing lands outside.
@Suite(.timeLimit(.minutes(1)))
struct ExportTests {
  let temporary: TemporaryDirectory
  let cache: Cache
  init() throws {
    temporary = try TemporaryDirectory("export")
    cache = try Cache.open(
      CacheConfiguration(
        root: temporary.file("cache"), endpoint: "http://127.0.0.1:1", bucket: "b", prefix: ObjectKey("p/"),
        limit: 1 << 30), clock: SystemClock(), log: .none)
    try FileSystem.makeDirectory(temporary.file("out"))
  }

  private func store(_ key: [UInt8], _ text: String, known: Bool = true, part: Int? = nil) throws {
    let bytes = Array(text.utf8)
    let revision = ObjectRevision(
      etag: EntityTag("\"\(text.prefix(8))\""), size: Int64(part ?? bytes.count), modified: 1_600_000_000)
    let key = ObjectKey(Array("p/".utf8) + key)
    let blob = try cache.makeBlob(key, ObjectMetadata(revision: revision))
    let writer = blob.writer(at: 0, upTo: Int64(bytes.count))
    try writer.write(bytes.span.bytes)
    writer.finish()
    let current = known ? revision : ObjectRevision(etag: EntityTag("\"other\""), size: 1, modified: 1)
    cache.catalogue.record(.object(key, current, storageClass: nil, validated: WallTime(seconds: 5)))
  }

  private func export(_ prefix: String = "") async throws -> CacheExport {
    await cache.catalogue.flush()
    let inspector = CacheInspector(root: temporary.file("cache"))
    let source = try #require(try inspector.sources().first)
    return try CacheExport(
      source, of: inspector, under: ObjectKey(prefix), into: DirectoryTree.open(temporary.file("out")))
  }

  private func found() throws -> [String] {
    func below(_ path: String) throws -> [String] {
      try FileSystem.list(temporary.file("out") + path).sorted().flatMap { name -> [String] in
        let child = "\(path)/\(name)"
        let isDirectory = try FileSystem.attributes(temporary.file("out") + child).kind == .directory
        return isDirectory ? try below(child) : [child]
      }
    }
    return try below("")
  }

  @Test func `whole copies become files under their names, and the rest is told`() async throws {
    try store(Array("a".utf8), "alpha")
    try store(Array("d/e/ü".utf8), "omega")
    try store(Array("part".utf8), "some", part: 1 << 20)
    let export = try await export()
    #expect(try found() == ["/a", "/d/e/ü"])
    #expect(try FileSystem.read(temporary.file("out/d/e/ü")) == Array("omega".utf8))
    #expect(try FileSystem.attributes(temporary.file("out/a")).modified == 1_600_000_000)
    #expect(export.files == 2 && export.bytes == 10)
    #expect(export.leftOut.map(\.key) == [ObjectKey("p/part")])
    #expect(export.leftOut[0].reason.contains("are cached"))
    // Once more, over what is there, and only a part.
    #expect(try await self.export("p/d/").files == 1)
  }

  @Test func `no key writes outside`() async throws {
    for key in ["../x", "../../x", "a/../../x", "/x", "a//b", ".", "..", "a/./b", "dir/"] {
      try store(Array(key.utf8), "evil \(key)")
    }
    try store([0x61, 0x00, 0x62], "nul")
    try store([UInt8](repeating: 0x61, count: 256), "long")
    try store([0xFF, 0xFE], "bytes")
    let before = try FileSystem.list(temporary.path).sorted()
    let export = try await export()
    #expect(export.files == 1 && export.leftOut.count == 11)
    #expect(try FileSystem.list(temporary.path).sorted() == before)
    let names = try await run(["sh", "-c", "find \"$0\" -type f | wc -l", temporary.file("out")])
    #expect(names.output == "1\n")
    // One of the names is no text, which the directory's own end would pass over.
    #expect(try await run(["rm", "-rf", temporary.file("out")]).status == 0)
  }

  @Test func `a name that is a file and a directory stays what it was first`() async throws {
    try store(Array("x".utf8), "file")
    try store(Array("x/y".utf8), "below")
    let export = try await export()
    #expect(export.files == 1 && export.leftOut.count == 1)
    #expect(export.leftOut.allSatisfy { $0.reason.contains("has the name of a directory") })
  }
}
