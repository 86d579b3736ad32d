// Directory buckets of S3 Express: sessions, listings without an order, prices of their own.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct DirectoryBucketTests {
  private func bucket(life: Int64 = 300, pageSize: Int = 1000) throws -> FakeS3 {
    let server = try FakeS3(bucket: "data--usw2-az1--x-s3")
    server.configure {
      $0.sessionLife = life
      $0.pageSize = pageSize
      $0.region = "us-west-2"
    }
    return server
  }
  private func put(_ server: FakeS3, _ key: String, _ bytes: [UInt8]) {
    // ETags are not made of the bytes.
    server.put(key, bytes, etag: .value("\"random\(stableHash(bytes))\""), storageClass: "EXPRESS_ONEZONE")
  }
  private func sessions(_ server: FakeS3) -> [RecordedRequest] {
    server.requests(.other).filter { $0.query.bytes("session") != nil }
  }

  @Test(arguments: [1000, 3])
  func `a tree is seen as it is, page by page and in no order`(pageSize: Int) async throws {
    let server = try bucket(pageSize: pageSize)
    let keys = ["f", "a/b/c/deep", "a/b/f", "a-b", "z/1", "z/2"] + (0..<20).map { "many/\($0)/f" }
    for key in keys { put(server, key, Array(key.utf8)) }
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "300ms")
    let mount = stage.mount
    // Names that nothing is known of, each a first look.
    #expect(try await mount.text("a/b/c/deep") == "a/b/c/deep")
    #expect(await mount.errno { _ = try await mount.read("none") } == .noEntry)
    #expect(await mount.errno { _ = try await mount.list("many/none") } == .noEntry)
    #expect(try await mount.list() == ["a", "a-b", "f", "many", "z"])
    #expect(try await mount.list("many").count == 20)
    let found = try await mount.shell("find . -type f | sort")
    #expect(found.output == keys.map { "./\($0)\n" }.sorted().joined(), "\(found)")
    for key in keys { #expect(try await mount.text(key) == key) }
    put(server, "f", Array("new".utf8))
    server.delete("z/1")
    put(server, "z/3", [0x33])
    try await pass(.seconds(1))
    #expect(try await mount.text("f") == "new")
    #expect(await mount.errno { _ = try await mount.read("z/1") } == .noEntry)
    #expect(try await mount.list("z") == ["2", "3"])
    #expect(try await mount.text("z/3") == "3")
    #expect(server.sums.failed == 0)
    #expect(sessions(server).count == 1)
  }

  @Test func `a session is renewed ahead of its end, once for all who read`() async throws {
    let server = try bucket(life: 4)
    for index in 0..<400 { put(server, "d/\(index)", Array("\(index)".utf8)) }
    let mount = try await server.mounted("--freshness", "0s").mount
    // Nine seconds of readers that ask for each file.
    let end = ContinuousClock.now + .seconds(9)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for reader in 0..<8 {
        group.addTask {
          var index = reader
          while ContinuousClock.now < end {
            let text = try await mount.text("d/\(index % 400)")
            #expect(text == "\(index % 400)")
            index += 8
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(server.sums.failed == 0)
    #expect((3...5).contains(sessions(server).count), "\(sessions(server).count)")
  }

  @Test func `a session that the server gave up is replaced, and no reader sees it`() async throws {
    let server = try bucket()
    put(server, "a", [0x61])
    put(server, "b", [0x62])
    let mount = try await server.mounted().mount
    #expect(try await mount.text("a") == "a")
    // It is no longer good, long before its end.
    try await Task.sleep(for: .seconds(1))
    server.inject(.status(400, code: "ExpiredToken"), on: .get, times: 1)
    #expect(try await mount.text("b") == "b")
    #expect(sessions(server).count == 2)
  }

  @Test func `sessions and listings are counted, at the prices of S3 Express`() async throws {
    let server = try bucket()
    put(server, "a", content(1 << 20, 1))
    let mount = try await server.mounted().mount
    _ = try await mount.read("a")
    let status = try await mount.status()
    #expect(try status.count("other") == 1)
    let sums = server.sums
    let cost =
      Double(sums.gets + sums.heads + sums.others) * 0.00003 / 1000 + Double(sums.lists) * 0.00113 / 1000
      + Double(1 << 20) * 0.0006 / 1e9
    #expect(abs(try status.number("sinceMount") - cost) < 1e-7, "\(status), \(cost)")
  }

  @Test func `a budget counts sessions too, and never too much is asked`() async throws {
    let server = try bucket()
    for index in 0..<20 { put(server, "d/\(index)", content(200_000, UInt64(index))) }
    let mount = try await server.mounted("--budget", "12req/hour", "--freshness", "1h").mount
    var failures = 0
    for index in 0..<20 {
      if await mount.errno(of: { _ = try await mount.read("d/\(index)") }) != nil { failures += 1 }
    }
    #expect(failures > 0 && failures < 20, "\(failures)")
    #expect(sessions(server).count == 1 && server.sums.total <= 12, "\(server.sums)")
  }

  @Test func `who may not have a session is told so`() async throws {
    let server = try bucket()
    server.inject([.status(403, code: "AccessDenied")]) { $0.query.bytes("session") != nil }
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await fixture.mount()
    #expect(result.status == 5 && result.errors.contains("CreateSession"), "\(result)")
    server.configure { $0.exists = false }
    let missing = try FakeS3(bucket: "none--usw2-az1--x-s3")
    missing.configure { $0.exists = false }
    let gone = try MountFixture(missing.bucket, endpoint: missing.endpoint)
    #expect(try await gone.mount().status == 4)
  }

  @Test func `the doctor walks the way to a directory bucket`() async throws {
    let server = try bucket()
    put(server, "a", [0x61, 0x62])
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await fixture.command(
      ["doctor", "--endpoint-url", server.endpoint, "--cache-dir", fixture.cache, server.bucket])
    #expect(!result.output.contains("FAIL") && result.output.contains("us-west-2"), "\(result)")
    #expect(result.output.contains("in no order"), "\(result)")
  }
}
