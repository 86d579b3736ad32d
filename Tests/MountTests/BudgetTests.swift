// A budget on a real mount, in real time: what the server counts, and what programs see.
import MirrorPlatform
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Machine.canMount))
struct BudgetTests {
  /// The most requests that arrived in any stretch of this length.
  private static func most(_ requests: [RecordedRequest], in length: Duration) -> Int {
    let times = requests.map(\.arrived).sorted()
    var (first, most) = (0, 0)
    for index in times.indices {
      while times[index] - times[first] >= length { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  @Test func `ten times what the budget gives, over a crash: all cached content is served, and no more is sent`()
    async throws
  {
    let limit = 40
    let server = try FakeS3()
    for index in 0..<10 { server.put("f\(index).txt", content(1000, UInt64(index))) }
    let directory = try TemporaryDirectory("cache")
    let options = ["--freshness", "1s", "--budget", "\(limit)req/minute"]
    func reads(_ mount: MountFixture, for time: Duration) async throws -> Int {
      // Ten files of one second: six hundred validations a minute.
      let script = """
        import hashlib, os, sys, time
        point, end, done = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
        while time.monotonic() < end:
          for index in range(10):
            with open(f"{point}/f{index}.txt", "rb") as f: assert len(f.read()) == 1000
            done += 1
          time.sleep(0.2)
        print(done)
        """
      let result = try await python(script, mount.point, "\(time.secondsValue)", limit: .seconds(90))
      #expect(result.succeeded, "\(result)")
      return Int(result.output.dropLast()) ?? 0
    }
    let first = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: options, cache: directory.file("c"), limit: .seconds(90))
    #expect(try await reads(first, for: .seconds(35)) > 300)
    let status = try await first.status()
    #expect(try status.count("stale") > 50)
    #expect(status.text("state") == "online")
    #expect(status.json.contains("\"limit\":\"40req/minute\"") && status.json.contains("\"stretching\":true"))
    var states: Set<String?> = []
    for index in 0..<10 {
      states.insert(try await first.extendedAttribute("user.s3mirror.state", of: "f\(index).txt"))
    }
    #expect(states.contains("stale"), "\(states)")
    #expect(try await first.command(["status", first.point]).output.contains("lifetimes stretch"))
    try await first.killDaemon()
    let second = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: options, cache: directory.file("c"), limit: .seconds(90))
    #expect(try await reads(second, for: .seconds(45)) > 300)
    let most = Self.most(server.requests, in: .seconds(60))
    #expect(most <= limit)
    #expect(most >= limit / 2, "it goes on asking: \(most)")
  }

  @Test func `what is cold and can't be paid for is EIO at once, and explained`() async throws {
    let server = try FakeS3()
    for index in 0..<6 { server.put("f\(index)", content(300_000, UInt64(index))) }
    let directory = try TemporaryDirectory("cache")
    let log = directory.file("log")
    let stage = try await server.mounted("--budget", "4req/day", "--log-file", log, "--freshness", "1s")
    let mount = stage.mount
    // The mount took one.
    for index in 0..<3 { #expect(try await mount.read("f\(index)") == content(300_000, UInt64(index))) }
    let started = ContinuousClock.now
    #expect(await mount.errno { _ = try await mount.read("f3") } == .inputOutput)
    #expect(ContinuousClock.now - started < .seconds(2))
    try await pass(.seconds(1))
    for index in 0..<3 { #expect(try await mount.read("f\(index)") == content(300_000, UInt64(index))) }
    #expect(server.sums.total == 4)
    let told = String(decoding: try FileSystem.read(log), as: UTF8.self)
    #expect(told.contains("the budget of 4req/day is spent (4 requests in the last day); there is money again in"))
    let cold = try await mount.command(["explain", mount.path("f3")])
    #expect(cold.output.contains("budget"), "\(cold)")
    let stale = try await mount.command(["explain", mount.path("f0"), "--json"])
    #expect(stale.output.contains("the stale copy is served"), "\(stale)")
    #expect(try await mount.status().text("state") == "online")
  }
}
