// One and the same use of a mount, over every real server there is: what it sees may not depend on which it is.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Machine.canMount))
struct ServerTests {
  private func bucket(_ kind: ServerKind) async throws -> RealBucket {
    let server = try await RealServer.shared(kind)
    return RealBucket(server: server, proxy: try CountingProxy(to: server.port), name: try await server.makeBucket())
  }

  @Test(arguments: ServerKind.chosen)
  func `the server is of a version that is known`(kind: ServerKind) async throws {
    let version = try #require(try await kind.version(), "\(kind) is not here, or does not tell its version")
    ServerTable.note("version", kind, version)
  }

  /// Not what a mount sees: what it has to get along with.
  @Test(arguments: ServerKind.chosen)
  func `what the server does is written down`(kind: ServerKind) async throws {
    let server = try await RealServer.shared(kind)
    let bucket = try await server.makeBucket()
    let key = ObjectKey("d/f")
    let sum = base64(Digest.value(.sha256, of: content(1000, 1)))
    try await server.put(bucket, key, content(1000, 1), fields: Fields([("x-amz-checksum-sha256", sum)]))
    func ask(_ method: String = "GET", _ fields: (String, String)...) async throws -> (Int, Fields, [UInt8]) {
      let answer = try await server.ask(method, bucket, key, fields: Fields(fields))
      return (answer.status, answer.fields, answer.body)
    }
    let (status, fields, _) = try await ask()
    let tag = try #require(fields["etag"])
    #expect(status == 200)
    let none = try await ask("GET", ("If-None-Match", tag))
    ServerTable.note("If-None-Match is heeded", kind, none.0 == 304)
    ServerTable.note("a 304 has the ETag", kind, none.0 == 304 && none.1["etag"] == tag)
    ServerTable.note("If-Match is heeded", kind, try await ask("GET", ("If-Match", "\"other\"")).0 == 412)
    let part = try await ask("GET", ("Range", "bytes=10-19"))
    let isPart = part.2 == Array(content(1000, 1)[10..<20])
    ServerTable.note("Range is heeded", kind, isPart ? part.0 == 206 ? "yes" : "as \(part.0)" : "no")
    let told = try await ask("GET", ("x-amz-checksum-mode", "ENABLED")).1["x-amz-checksum-sha256"]
    ServerTable.note("checksums are told", kind, told == sum)
    let listing = try await server.listedKeys(bucket, prefix: "d/")
    #expect(listing.keys == [key])
    let listed = listing.text.split(separator: "<ETag>").last?.prefix { $0 != "<" } ?? ""
    let bare = tag.split(separator: "\"").joined()
    ServerTable.note("listings have objects' ETags", kind, listed.contains(bare))
    ServerTable.note("listings of version 2", kind, listing.text.contains("<KeyCount>"))
    ServerTable.note("keys in listings are encoded", kind, listing.text.contains("<EncodingType>url"))
  }

  @Test(arguments: ServerKind.chosen)
  func `files are read whole and in part`(kind: ServerKind) async throws {
    let bucket = try await bucket(kind)
    let sizes = [0, 1, 4096, 128 << 10, (128 << 10) + 1, 3 << 20, (16 << 20) + 4097]
    for size in sizes { try await bucket.put("d/\(size)", content(size, UInt64(size) + 1)) }
    let mount = try await bucket.mounted().mount
    for size in sizes.reversed() {
      let all = content(size, UInt64(size) + 1)
      // Parts first, while nothing is cached.
      for offset in [0, size / 2, max(0, size - 5000)] {
        let part = try await mount.read("d/\(size)", at: Int64(offset), count: 5000)
        #expect(fingerprint(part) == fingerprint(Array(all[offset..<min(size, offset + 5000)])), "\(size) at \(offset)")
      }
      #expect(try await mount.fingerprint("d/\(size)") == fingerprint(all))
      #expect(try await mount.attributes("d/\(size)").size == Int64(size))
    }
    ServerTable.note("reading, whole and in part", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen)
  func `directories are listed, over pages too`(kind: ServerKind) async throws {
    let bucket = try await bucket(kind)
    for key in ["f", "a/b/c/deep", "a/b/f", "a-b", "a.b", "z/1"] { try await bucket.put(key, key) }
    let many = (0..<1010).map { "many/f\($0)" }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          for index in stride(from: part, to: many.count, by: 4) { try await bucket.put(many[index], "x") }
        }
      }
      try await group.waitForAll()
    }
    let mount = try await bucket.mounted().mount
    #expect(try await mount.text("a/b/c/deep") == "a/b/c/deep")
    #expect(try await mount.list() == ["a", "a-b", "a.b", "f", "many", "z"].sorted())
    #expect(try await mount.list("a/b") == ["c", "f"])
    #expect(try await mount.list("many") == many.map { String($0.dropFirst(5)) }.sorted())
    #expect(await mount.errno { _ = try await mount.list("nothing") } == .noEntry)
    #expect(await mount.errno { _ = try await mount.read("a/b/nothing") } == .noEntry)
    let found = try await mount.shell("find . -type f | wc -l && cat many/f1009 a.b")
    #expect(found.output == "1016\nxa.b", "\(found)")
    ServerTable.note("directories, over pages too", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen, [true, false])
  func `what has not changed costs one request and no content`(kind: ServerKind, isListed: Bool) async throws {
    let bucket = try await bucket(kind)
    for size in [300, 100 << 10, 5 << 20] { try await bucket.put("d/\(size)", content(size, UInt64(size))) }
    let stage = try await bucket.mounted("--freshness", "1s")
    let mount = stage.mount
    if isListed { #expect(try await mount.list("d").count == 3) }
    for size in [300, 100 << 10, 5 << 20] { _ = try await mount.fingerprint("d/\(size)") }
    try await pass(.seconds(1))
    for size in [300, 100 << 10, 5 << 20] {
      let expected = fingerprint(content(size, UInt64(size)))
      let (seen, spent) = try await stage.cost { try await mount.fingerprint("d/\(size)") }
      #expect(seen == expected)
      #expect(spent.total == 1 && spent.notModified == 1 && spent.bodyBytes == 0, "\(size): \(spent)")
    }
    ServerTable.note("validation by conditional GET", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen)
  func `changes, removals and returns are seen`(kind: ServerKind) async throws {
    let bucket = try await bucket(kind)
    for name in ["changed", "grown", "gone", "back"] { try await bucket.put("d/\(name)", "old") }
    let mount = try await bucket.mounted("--freshness", "1s", "--negative-freshness", "500ms").mount
    #expect(try await mount.list("d") == ["back", "changed", "gone", "grown"])
    for name in ["changed", "grown", "gone", "back"] { #expect(try await mount.text("d/\(name)") == "old") }
    let before = try await mount.attributes("d/changed").inode
    // Of the same length, and within the same second as the first perhaps.
    try await bucket.put("d/changed", "new")
    try await bucket.put("d/grown", content(200 << 10, 9))
    for name in ["gone", "back"] { try await bucket.delete("d/\(name)") }
    try await bucket.put("d/added", "added")
    try await pass(.seconds(1))
    #expect(try await mount.text("d/changed") == "new")
    #expect(try await mount.attributes("d/changed").inode != before)
    #expect(try await mount.fingerprint("d/grown") == fingerprint(content(200 << 10, 9)))
    for name in ["gone", "back"] {
      #expect(await mount.errno { _ = try await mount.read("d/\(name)") } == .noEntry)
    }
    try await bucket.put("d/back", "again")
    try await pass(.seconds(1))
    #expect(try await mount.text("d/back") == "again")
    #expect(try await mount.list("d") == ["added", "back", "changed", "grown"])
    ServerTable.note("changes, removals, returns", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen)
  func `an open file is never of two revisions`(kind: ServerKind) async throws {
    let bucket = try await bucket(kind)
    let size = 24 << 20
    let (old, new) = (content(size, 1), content(size, 2))
    try await bucket.put("f", old)
    let mount = try await bucket.mounted("--freshness", "1s").mount
    let open = try await mount.open("f")
    #expect(try await mount.read(open, at: 0, count: 1000) == Array(old[..<1000]))
    try await bucket.put("f", new)
    // Far from what was read ahead: what is not cached of the old can't be had any more.
    let end = Int64(size - 4096)
    let late: Result<[UInt8], Errno>
    do { late = .success(try await mount.read(open, at: end, count: 4096)) } catch {
      late = .failure(try #require(error as? Errno))
    }
    switch late {
    case .success(let bytes): #expect(fingerprint(bytes) == fingerprint(Array(old[Int(end)...])))
    case .failure(let error): #expect(error == .stale)
    }
    try await pass(.seconds(1))
    #expect(try await mount.fingerprint("f") == fingerprint(new))
    ServerTable.note("open files keep their revision", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen)
  func `in a versioned bucket the current version is seen, and a delete marker is none`(kind: ServerKind) async throws {
    let bucket = try await bucket(kind)
    let body = Array(
      """
      <VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status>\
      </VersioningConfiguration>
      """.utf8)
    let status = try await blocking {
      try bucket.server.send("PUT", "/\(bucket.name)", query: "versioning=", body: body).status
    }
    guard status == 200 else { return ServerTable.note("versioned buckets", kind, "no") }
    for text in ["first", "second"] { try await bucket.put("d/f", text) }
    try await bucket.put("d/g", "g")
    try await bucket.put("d/h", "h")
    try await bucket.delete("d/g")
    let mount = try await bucket.mounted("--freshness", "1s").mount
    #expect(try await mount.text("d/f") == "second")
    #expect(await mount.errno { _ = try await mount.read("d/g") } == .noEntry)
    #expect(try await mount.list("d") == ["f", "h"])
    #expect(try await mount.text("d/h") == "h")
    try await bucket.put("d/f", "third")
    try await bucket.delete("d/h")
    try await pass(.seconds(1))
    #expect(try await mount.text("d/f") == "third")
    #expect(await mount.errno { _ = try await mount.read("d/h") } == .noEntry)
    ServerTable.note("versioned buckets", kind, "yes")
  }

  @Test(arguments: ServerKind.chosen)
  func `a wrong secret is told from a missing bucket`(kind: ServerKind) async throws {
    let server = try await RealServer.shared(kind)
    let bucket = try await server.makeBucket()
    let missing = try MountFixture("no-such-bucket-here", endpoint: server.endpoint)
    let none = try await missing.mount()
    #expect(none.status == 4, "\(none)")
    let wrong = try MountFixture(
      bucket, endpoint: server.endpoint, environment: ["AWS_SECRET_ACCESS_KEY": "another-secret"])
    let refused = try await wrong.mount()
    #expect(refused.status == 5 || (kind == .moto && refused.succeeded), "\(refused)")
    ServerTable.note("signatures are checked", kind, refused.status == 5)
  }
}
