// Servers that lack something S3 has: what is read is right all the same, costs no more than it must, and the lack is
// remembered by the next mount.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct LackTests {
  private static let large = 3 << 20

  /// Mounts once more over the same cache.
  private func again(_ stage: Stage, _ server: FakeS3, _ options: String...) async throws -> Stage {
    try await stage.mount.unmount()
    server.reset()
    try await stage.mount.mount(options)
    return stage
  }

  @Test func `If-None-Match ignored: a HEAD asks first, over restarts too`() async throws {
    let server = try FakeS3()
    for name in ["a", "b"] { server.put("d/\(name)", size: Int64(Self.large), seed: 3) }
    server.inject(.ignoreIfNoneMatch)
    var stage = try await server.mounted("--freshness", "300ms")
    for name in ["a", "b"] { _ = try await stage.mount.read("d/\(name)") }
    try await pass(.milliseconds(300))
    // The first time it is found out.
    _ = try await stage.mount.read("d/a")
    try await pass(.milliseconds(300))
    let (_, known) = try await stage.cost { try await stage.mount.read("d/a") }
    #expect(known.heads == 1 && known.gets == 0 && known.bodyBytes == 0, "\(known)")
    stage = try await again(stage, server, "--freshness", "300ms")
    try await pass(.milliseconds(300))
    let (seen, later) = try await stage.cost { try await stage.mount.fingerprint("d/b") }
    #expect(seen == fingerprint(server.bytes("d/b")))
    #expect(later.heads == 1 && later.gets == 0 && later.bodyBytes == 0, "\(later)")
    server.put("d/b", "changed")
    try await pass(.milliseconds(300))
    #expect(try await stage.mount.text("d/b") == "changed")
  }

  @Test func `If-Match ignored: parts of two revisions are never joined`() async throws {
    let server = try FakeS3()
    let size = 24 << 20
    server.put("f", size: Int64(size), seed: 1)
    server.inject(.ignoreIfMatch)
    let old = server.bytes("f")
    let mount = try await server.mounted("--freshness", "1s").mount
    let file = try await mount.open("f")
    #expect(try await mount.read(file, at: 0, count: 1000) == Array(old[..<1000]))
    server.put("f", size: Int64(size), seed: 2)
    #expect(await mount.errno { _ = try await mount.read(file, at: Int64(size - 4096), count: 4096) } == .stale)
    try await pass(.seconds(1))
    #expect(try await mount.fingerprint("f") == fingerprint(server.bytes("f")))
  }

  @Test func `Range ignored: large objects come whole, once, over restarts too`() async throws {
    let server = try FakeS3()
    let size = 40 << 20
    for name in ["a", "b", "c"] { server.put(name, size: Int64(size), seed: 5) }
    server.inject(.ignoreRange)
    var stage = try await server.mounted("--freshness", "1h")
    #expect(try await stage.mount.fingerprint("a") == fingerprint(server.bytes("a")))
    // It was found out with parts under way.
    let (seen, spent) = try await stage.cost { try await stage.mount.fingerprint("b") }
    #expect(seen == fingerprint(server.bytes("b")))
    #expect(spent.bodyBytes <= Int64(2 * size), "\(spent)")
    stage = try await again(stage, server, "--freshness", "1h")
    let (later, cost) = try await stage.cost { try await stage.mount.fingerprint("c") }
    #expect(later == seen)
    #expect(cost.bodyBytes <= Int64(2 * size) && cost.gets <= 2, "\(cost)")
  }

  @Test func `parts that are called the whole are taken for parts`() async throws {
    let server = try FakeS3()
    server.put("f", size: 20 << 20, seed: 7)
    server.inject(.partsAsWhole)
    let stage = try await server.mounted()
    let bytes = server.bytes("f")
    let part = try await stage.mount.read("f", at: 11 << 20, count: 5000)
    #expect(fingerprint(part) == fingerprint(Array(bytes[(11 << 20)..<((11 << 20) + 5000)])))
    let (seen, spent) = try await stage.cost { try await stage.mount.fingerprint("f") }
    #expect(seen == fingerprint(bytes))
    #expect(spent.bodyBytes <= 20 << 20)
  }

  @Test func `listings of version 1: found out once, remembered`() async throws {
    let server = try FakeS3()
    for index in 0..<50 { server.put("d/k\(index)", "x") }
    server.configure {
      $0.knowsListVersion2 = false
      $0.pageSize = 7
    }
    var stage = try await server.mounted()
    #expect(try await stage.mount.list("d").count == 50)
    stage = try await again(stage, server, "--freshness", "300ms")
    #expect(try await stage.mount.list("d").count == 50)
    #expect(server.requests(.list).allSatisfy { $0.query["list-type"] == nil })
  }

  @Test func `keys not encoded, sizes missing, other ETags in listings, in no order: all is seen and right`()
    async throws
  {
    let server = try FakeS3()
    let names = ["a b", "a+b", "100%", "ä", "n/x", "n/y", "z"]
    for name in names { server.put("d/\(name)", name) }
    for index in 0..<30 { server.put("many/\(index)/f", "\(index)") }
    server.configure {
      $0.knowsEncodingType = false
      $0.listsSizes = false
      $0.listsInOrder = false
      $0.listedTag = { _ in "\"another\"" }
      $0.pageSize = 10
    }
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    for _ in 0..<2 {
      #expect(try await mount.list("d") == ["100%", "a b", "a+b", "n", "z", "ä"])
      #expect(try await mount.list("many").count == 30)
      for name in names {
        #expect(try await mount.text("d/\(name)") == name)
        #expect(try await mount.attributes("d/\(name)").size == Int64(name.utf8.count))
      }
      for index in 0..<30 { #expect(try await mount.text("many/\(index)/f") == "\(index)") }
      #expect(await mount.errno { _ = try await mount.read("many/30/f") } == .noEntry)
      try await pass(.seconds(1))
    }
    server.delete("d/z")
    server.put("d/a b", "new")
    server.put("many/30/f", "30")
    try await pass(.seconds(1))
    #expect(try await mount.text("d/a b") == "new")
    #expect(try await mount.list("d") == ["100%", "a b", "a+b", "n", "ä"])
    #expect(await mount.errno { _ = try await mount.read("d/z") } == .noEntry)
  }

  @Test func `ETags that only look like MD5s: found out once, remembered`() async throws {
    let server = try FakeS3()
    let tag = FakeObject.Tag.value("\"0123456789abcdef0123456789abcdef\"")
    for name in ["a", "b"] { server.put("d/\(name)", content(1000, 1), etag: tag) }
    var stage = try await server.mounted()
    #expect(try await stage.mount.fingerprint("d/a") == fingerprint(content(1000, 1)))
    stage = try await again(stage, server)
    let (seen, spent) = try await stage.cost { try await stage.mount.fingerprint("d/b") }
    #expect(seen == fingerprint(content(1000, 1)))
    #expect(spent.gets == 1, "\(spent)")
  }

  @Test func `the doctor names what a server lacks, and what is done about it`() async throws {
    let server = try FakeS3()
    server.put("f", content(5000, 1))
    server.inject(.ignoreRange, .ignoreIfMatch)
    server.configure {
      $0.knowsListVersion2 = false
      $0.listedTag = { _ in "\"another\"" }
    }
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await fixture.command(
      ["doctor", "--endpoint-url", server.endpoint, "--cache-dir", fixture.cache, server.bucket])
    for word in ["ignores Range", "ignores If-Match", "version 1", "lists other ETags"] {
      #expect(result.output.contains("note  server: it ") && result.output.contains(word), "\(result)")
    }
  }
}
