// Buckets that keep versions: an open file is read to its end, whatever became of its name.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct VersionTests {
  private static let size = 24 << 20
  private static let step = 1 << 20

  private func rest(_ stage: Stage, _ file: File, from start: Int = step) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    for offset in stride(from: start, to: Self.size, by: Self.step) {
      bytes += try await stage.mount.read(file, at: Int64(offset), count: Self.step)
    }
    return bytes
  }

  @Test(arguments: [true, false])
  func `an open file is read to its end after it was replaced or deleted`(isDeleted: Bool) async throws {
    let bucket = try await RealBucket.make()
    try await bucket.server.keepVersions(bucket.name)
    let (old, new) = (content(Self.size, 1), content(1 << 20, 2))
    try await bucket.put("f", old)
    let stage = try await bucket.mounted("--freshness", "1s")
    let held = try await stage.mount.open("f")
    #expect(try await stage.mount.read(held, at: 0, count: Self.step) == Array(old[..<Self.step]))
    let version = try await stage.mount.extendedAttribute("user.s3.version-id", of: "f")
    #expect(version?.isEmpty == false)
    if isDeleted { try await bucket.delete("f") } else { try await bucket.put("f", new) }
    try await pass(.seconds(1))
    if isDeleted {
      #expect(await stage.mount.errno { _ = try await stage.mount.read("f") } == .noEntry)
    } else {
      #expect(try await stage.mount.fingerprint("f") == fingerprint(new))
    }
    let (bytes, cost) = try await stage.cost { try await rest(stage, held) }
    #expect(fingerprint(Array(old[..<Self.step]) + bytes) == fingerprint(old))
    #expect(cost.gets > 0 && cost.total == cost.gets)
    #expect(stage.origin.requests.contains { $0.query["versionId"] == version })
  }

  @Test func `a version that nobody looked at again is found out by its reader`() async throws {
    let server = try FakeS3()
    server.configure { $0.keepsVersions = true }
    let old = content(Self.size, 1)
    server.put("d/f", old)
    let stage = try await server.mounted("--freshness", "600s")
    let held = try await stage.mount.open("d/f")
    #expect(try await stage.mount.read(held, at: 0, count: Self.step) == Array(old[..<Self.step]))
    server.put("d/f", content(Self.size, 2))
    // What is read ahead comes to its end.
    try await pass(.milliseconds(300))
    let (bytes, cost) = try await stage.cost { try await rest(stage, held) }
    #expect(fingerprint(bytes) == fingerprint(Array(old[Self.step...])))
    #expect(cost.failed == 0)
    // The name leads to the new one at once, without waiting for the window.
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(Self.size, 2)))
  }

  @Test func `a file that nobody had read yet when it was replaced is found among its versions`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.server.keepVersions(bucket.name)
    for name in ["d/f", "d/g"] { try await bucket.put(name, content(400_000, 1)) }
    let stage = try await bucket.mounted("--freshness", "600s")
    #expect(try await stage.mount.list("d") == ["f", "g"])
    #expect(try await stage.mount.fingerprint("d/g") == fingerprint(content(400_000, 1)))
    let held = try await stage.mount.open("d/f")
    try await bucket.put("d/f", content(300_000, 2))
    let (bytes, cost) = try await stage.cost { try await stage.mount.read(held, at: 0, count: 400_000) }
    #expect(fingerprint(bytes) == fingerprint(content(400_000, 1)))
    #expect(cost.lists == 1 && cost.others == 1)
  }

  @Test func `without the right to versions the rest of a replaced file is ESTALE, and they are asked for once`()
    async throws
  {
    let server = try FakeS3()
    server.configure {
      $0.keepsVersions = true
      $0.deniesVersions = true
    }
    for name in ["a", "b"] { server.put(name, content(Self.size, 1)) }
    let stage = try await server.mounted("--freshness", "1s", "--log-file", "/dev/null")
    for name in ["a", "b"] {
      let held = try await stage.mount.open(name)
      _ = try await stage.mount.read(held, at: 0, count: 4096)
      server.put(name, content(Self.size, 2))
      try await pass(.seconds(1))
      #expect(try await stage.mount.fingerprint(name) == fingerprint(content(Self.size, 2)))
      let error = await stage.mount.errno {
        _ = try await stage.mount.read(held, at: Int64(Self.size - Self.step), count: Self.step)
      }
      #expect(error == .stale)
    }
    #expect(server.requests.count { $0.query["versionId"] != nil } == 1)
  }
}
