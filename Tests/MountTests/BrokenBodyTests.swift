// A body that is cut off in mid-sentence is resumed, else an error; never a short file.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct BrokenBodyTests {
  // A065
  @Test(arguments: [
    (1 << 20, 512 << 10), (1 << 20, 1), (100_000, 50_000), (12 << 20, 300_000), (1 << 20, (1 << 20) - 1),
  ])
  func `a body that ends too soon is resumed`(size: Int, at end: Int) async throws {
    let server = try FakeS3()
    server.put("f", content(size, 1))
    let stage = try await server.mounted()
    server.inject(.truncateAfter(Int64(end)), on: .get, times: 1)
    let (print, cost) = try await stage.cost { try await stage.mount.fingerprint("f") }
    #expect(print == fingerprint(content(size, 1)))
    if size <= 8 << 20 { #expect(cost.gets == 2) }
    #expect(server.requests(.get).dropFirst().allSatisfy { $0.fields["if-match"] != nil })
  }

  // A065
  @Test(arguments: [1, 300_000])
  func `a body that always ends too soon is an error and no copy`(end: Int) async throws {
    let server = try FakeS3()
    let body = content(1 << 20, 1)
    server.put("f", body)
    let stage = try await server.mounted()
    server.inject(.truncateAfter(Int64(end)), on: .get)
    // Each attempt may get a little further; in the end all must be right, or an error.
    let first = try? await stage.mount.fingerprint("f")
    #expect(first == nil || first == fingerprint(body))
    if end == 1 { #expect(first == nil) }
    let listed = try await stage.mount.command(["cache", "ls", "--json", "--cache-dir", stage.mount.cache])
    if first == nil { #expect(!listed.output.contains("\"complete\":true"), "\(listed)") }
    server.clearFaults()
    #expect(try await stage.mount.fingerprint("f") == fingerprint(body))
  }

  // A065
  @Test func `a body longer than announced ends where it was said to`() async throws {
    let server = try FakeS3()
    server.put("f", content(1000, 1))
    let stage = try await server.mounted()
    server.inject(.body(content(1001, 1)), .field("Content-Length", "1000"), .closeAfter, on: .get)
    let seen = try? await stage.mount.fingerprint("f")
    #expect(seen == nil || seen == fingerprint(content(1000, 1)))
    server.clearFaults()
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(1000, 1)))
  }

  // A066
  @Test(arguments: [Fault.reset, .resetAfter(30_000), .closeAfter])
  func `connections that break are not seen by readers`(fault: Fault) async throws {
    let server = try FakeS3()
    for index in 0..<12 { server.put("d/f\(index)", content(60_000, UInt64(index))) }
    let stage = try await server.mounted()
    for skip in [1, 3, 5] { server.inject(fault, on: .get, skip: skip, times: 1) }
    for index in 0..<12 {
      #expect(try await stage.mount.fingerprint("d/f\(index)") == fingerprint(content(60_000, UInt64(index))))
    }
    #expect(server.requests(.get).count <= 15)
  }
}
