// A damaged body is never served and never cached, whichever checksum proves it.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct ChecksumTests {
  /// Header fields that tell the checksum of a body, of one kind.
  private func fields(_ algorithm: String, _ body: [UInt8]) -> Fields {
    let value: [UInt8]
    if let kind = RedundancyCheck.Algorithm(rawValue: algorithm) {
      var check = RedundancyCheck(kind)
      check.update(body.span.bytes)
      value = RedundancyCheck.bytes(check.value, kind)
    } else {
      value = Digest.value(algorithm == "sha1" ? .sha1 : .sha256, of: body)
    }
    return Fields([("x-amz-checksum-\(algorithm)", base64(value)), ("x-amz-checksum-type", "FULL_OBJECT")])
  }

  private func mounted(_ algorithm: String, _ body: [UInt8]) async throws -> (FakeS3, Stage) {
    let server = try FakeS3()
    if algorithm == "md5" {
      server.put("f", body)
    } else {
      server.put("f", body, etag: .value("\"0123456789abcdef0123456789abcdef-2\""), fields: fields(algorithm, body))
    }
    return (server, try await server.mounted())
  }

  @Test(arguments: ["crc32", "crc32c", "crc64nvme", "sha1", "sha256", "md5"])
  func `a body with one wrong byte is not served, not cached, and asked for once more`(algorithm: String) async throws {
    let body = content(3_000_000, 7)
    let (server, stage) = try await mounted(algorithm, body)
    // Another byte each time: an ETag that met the same digest twice would be taken for one that is no MD5.
    for index in 0..<24 { server.inject(.corrupt(at: 1_234_567 + Int64(index)), on: .get, skip: index, times: 1) }
    let errno = await stage.mount.errno { _ = try await stage.mount.read("f") }
    #expect(errno == .inputOutput)
    let listed = try await stage.mount.command(["cache", "ls", "--json", "--cache-dir", stage.mount.cache])
    #expect(!listed.output.contains("\"complete\":true"), "\(listed)")
    let asked = server.requests(.get)
    #expect(asked.count <= 8)
    #expect(Set(asked.map(\.connection)).count > 1)

    server.clearFaults()
    #expect(try await stage.mount.fingerprint("f") == fingerprint(body))
  }

  @Test(arguments: ["crc64nvme", "md5"])
  func `damage that does not repeat itself is not seen by the reader`(algorithm: String) async throws {
    let body = content(500_000, 9)
    let (server, stage) = try await mounted(algorithm, body)
    server.inject(.corrupt(at: 499_999), on: .get, times: 1)
    #expect(try await stage.mount.fingerprint("f") == fingerprint(body))
    let (print, cost) = try await stage.cost { try await stage.mount.fingerprint("f") }
    #expect(print == fingerprint(body) && cost.gets == 0)
  }

  /// The first half breaks off, the second is asked for alone: the checksum is that of both.
  @Test(arguments: [100_000, 900_000])
  func `damage in either part of a body that broke off is not served`(place: Int64) async throws {
    let body = content(1_000_000, 3)
    let (server, stage) = try await mounted("crc64nvme", body)
    server.inject(.truncateAfter(500_000), on: .get, times: 1)
    if place < 500_000 {
      server.inject(.corrupt(at: place), on: .get, times: 1)
    } else {
      server.inject(.corrupt(at: place - 500_000), on: .get, skip: 1, times: 1)
    }
    #expect(try await stage.mount.fingerprint("f") == fingerprint(body))
    #expect(server.requests(.get).count == 3)
  }
}
