import MirrorPlatform
import TestSupport
import Testing

/// `cost` on real mounts, against what the server counted.
@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct CostCommandTests {
  private func makeServer() throws -> FakeS3 {
    let server = try FakeS3()
    for number in 0..<20 {
      server.put("a/\(number)", size: 1000, seed: UInt64(number))
      server.put("b/\(number)", size: 1000, seed: UInt64(number + 100))
    }
    return server
  }

  /// The sums of this month as the command tells them.
  private func told(_ mount: MountFixture, _ arguments: [String]) async throws -> RequestSums {
    let result = try await mount.command(["cost", "--json"] + arguments)
    #expect(result.succeeded, "\(result)")
    let month = try #require(result.output.firstRange(of: "\"monthToDate\":"), "\(result.output)")
    let text = StatusText(json: String(result.output[month.upperBound...]))
    var sums = RequestSums()
    sums.gets = try text.count("get")
    sums.heads = try text.count("head")
    sums.lists = try text.count("list")
    sums.others = try text.count("other")
    sums.notModified = try text.count("notModified")
    sums.failed = try text.count("failed")
    sums.bodyBytes = Int64(try text.count("bytesReceived"))
    return sums
  }

  @Test func `what is told is what the server counted, through kills and remounts`() async throws {
    let server = try makeServer()
    let mount = try await MountFixture.mounted(server.bucket, endpoint: server.endpoint)
    for number in 0..<20 { _ = try await mount.read("a/\(number)") }
    _ = await mount.errno { _ = try await mount.read("a/none") }
    // The last answer may be counted a moment after the reader has its bytes.
    let agrees = try await eventuallyEqual(server) { try await told(mount, [mount.point]) }
    #expect(agrees)
    for number in 0..<20 { _ = try await mount.read("b/\(number)") }
    // The work of the last five seconds may be lost in a crash.
    try await Task.sleep(for: .seconds(5))
    try await mount.killDaemon()
    #expect(try await told(mount, ["--cache-dir", mount.cache]) == server.sums)

    let again = try await mount.mount()
    #expect(again.succeeded, "\(again)")
    _ = try await mount.command(["refresh", mount.point])
    for number in 0..<20 { _ = try await mount.read("b/\(number)") }
    let agreesAgain = try await eventuallyEqual(server) { try await told(mount, [mount.point]) }
    #expect(agreesAgain)
    // An end in good order loses nothing at all.
    _ = try await mount.read("a/1")
    try await mount.unmount()
    #expect(try await told(mount, ["--cache-dir", mount.cache]) == server.sums)
  }

  private func eventuallyEqual(_ server: FakeS3, _ told: () async throws -> RequestSums) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(5)
    while try await told() != server.sums {
      if ContinuousClock.now > end {
        Issue.record("told \(try await told()), counted \(server.sums)")
        return false
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    return true
  }

  @Test func `prefixes are told, and prices outlive the mount`() async throws {
    let server = try makeServer()
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: ["--price", "none", "--price", "get=1"])
    for number in 0..<7 { _ = try await mount.read("b/\(number)") }
    try await Task.sleep(for: .milliseconds(200))
    let running = try await mount.command(["cost", "--by", "prefix"])
    #expect(running.output.contains("mounted on \(mount.point)"), "\(running)")
    #expect(running.output.contains("  b/     7.0000  7 requests  ███"), "\(running)")
    let other = try await mount.command(["cost", "--price", "get=2", mount.point])
    #expect(other.output.contains("14.0000 USD: 7 GET"), "\(other)")
    let projected = try await mount.command(["cost", "--project", "--json"])
    #expect(projected.output.contains("\"costPerMonth\":"), "\(projected)")
    try await mount.unmount()
    let stored = try await mount.command(["cost", "--cache-dir", mount.cache])
    #expect(stored.output.contains("7.0000 USD: 7 GET") && !stored.output.contains("mounted on"), "\(stored)")
  }
}
