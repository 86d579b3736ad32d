// A server that means to exhaust the machine: what it sends is an error or is borne, and the mount goes on.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct HostileTests {
  /// Resident memory of the daemon, in bytes.
  private func memory(_ mount: MountFixture) throws -> Int {
    let daemon = try #require(mount.daemon)
    let status = String(decoding: try FileSystem.read("/proc/\(daemon)/status"), as: UTF8.self)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) }) << 10
  }

  private func page(_ keys: Range<Int>, next: String?) -> [UInt8] {
    var text = "<?xml version=\"1.0\"?><ListBucketResult><EncodingType>url</EncodingType>"
    text += "<IsTruncated>\(next != nil)</IsTruncated>"
    if let next { text += "<NextContinuationToken>\(next)</NextContinuationToken>" }
    for number in keys {
      text += "<Contents><Key>d/k\(1_000_000 + number)</Key><Size>1</Size><ETag>&quot;\(number)&quot;</ETag></Contents>"
    }
    return Array((text + "</ListBucketResult>").utf8)
  }

  @Test func `a page that never ends is an error, and takes no memory without end`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "1s")
    server.inject(.body(page(0..<600_000, next: nil)), on: .list)
    try await pass(.seconds(1))
    let before = server.requests(.list).count
    // An error, or the listing before.
    let seen = try? await stage.mount.list("d")
    #expect(seen == nil || seen == ["f"])
    #expect(server.requests(.list).count > before)
    #expect(try memory(stage.mount) < 200 << 20)
    server.clearFaults()
    #expect(try await eventually { try await stage.mount.list("d") == ["f"] })
  }

  @Test(arguments: [1, 2]) func `pages that lead round in a circle are an error, and are not paid for without end`(
    count: Int
  ) async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "1s")
    for number in 0..<count {
      server.inject(
        [.body(page(number..<(number + 1), next: "place\((number + 1) % count)"))], on: .list
      ) { request in
        // Whoever asks for the beginning gets the first of them.
        count == 1 || (request.target.contains("place1")) == (number == 1)
      }
    }
    try await pass(.seconds(1))
    let before = server.requests(.list).count
    // An error, or what was known before; what the pages say there is, there is.
    let seen = try? await stage.mount.list("d")
    #expect(seen?.contains("f") ?? true)
    let asked = server.requests(.list).count - before
    #expect(asked > 0 && asked < 30, "\(asked)")
    server.clearFaults()
    #expect(try await eventually { try await stage.mount.list("d") == ["f"] })
  }

  @Test func `a head without end is an error`() async throws {
    let server = try FakeS3()
    server.put("f", "content")
    let stage = try await server.mounted("--freshness", "0s")
    _ = try await stage.mount.list()
    server.inject(.field("X-Much", String(repeating: "x", count: 8 << 20)), on: .get)
    #expect(await stage.mount.errno { _ = try await stage.mount.text("f") } == .inputOutput)
    server.clearFaults()
    #expect(await eventually { (try? await stage.mount.text("f")) == "content" })
    #expect(try memory(stage.mount) < 100 << 20)
  }

  @Test func `an object of five tebibytes costs what is read of it`() async throws {
    let server = try FakeS3()
    let size: Int64 = 5 << 40
    server.put("f", size: size, seed: 3, etag: .value("\"huge-1\""))
    let stage = try await server.mounted("--freshness", "1h")
    #expect(try await stage.mount.attributes("f").size == size)
    let body = try #require(server.object("f")).body
    for offset in [0, 1 << 40, size - 4096] {
      #expect(try await stage.mount.read("f", at: offset, count: 4096) == body.slice(offset, offset + 4096))
    }
    let used = try await run(["du", "-sk", stage.mount.cache])
    #expect((Int(used.output.prefix { $0 != "\t" }) ?? .max) < 64 << 10, "\(used)")
    #expect(try memory(stage.mount) < 100 << 20)
  }

  @Test func `twenty thousand directories with the longest names are borne`() async throws {
    let server = try FakeS3()
    let filler = (0..<4).map { _ in String(repeating: "n", count: 240) }.joined(separator: "/")
    for number in 0..<20_000 { server.put("p\(100_000 + number)/\(filler)/f", "x") }
    let stage = try await server.mounted("--freshness", "1h")
    let count = try await stage.mount.shell("ls -f | wc -l", limit: .seconds(60))
    #expect(count.output == "20002\n", "\(count)")
    #expect(try memory(stage.mount) < 200 << 20)
  }
}
