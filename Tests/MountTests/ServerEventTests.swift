// Real notifications of a real bucket through a real queue: moto has both.
import MirrorPlatform
import TestSupport
import Testing

@Suite(
  .serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount && ServerKind.moto.program != nil))
struct ServerEventTests {
  @Test func `an overwritten object shows within three seconds, and ten thousand opens cost nothing`() async throws {
    let server = try await RealServer.shared(.moto)
    let name = try await server.makeBucket()
    let bucket = RealBucket(server: server, proxy: try CountingProxy(to: server.port), name: name)
    let queue = try await server.makeQueue(hearing: name)
    try await bucket.put("d/a b+é", "first")
    try await bucket.put("d/other", "other")
    let stage = try await bucket.mounted("--events", queue, "--freshness", "1h", "--negative-freshness", "1h")
    let mount = stage.mount
    // The events of before the mount are heard first.
    let isHeard = try await eventually { try await mount.status().count("changes") >= 2 }
    #expect(isHeard)
    for file in ["d/a b+é", "d/other"] { _ = try await mount.read(file) }
    _ = try await mount.list("d")

    for text in ["second", "third"] {
      let (result, cost) = try await stage.cost {
        try await python(
          "import sys\nfor _ in range(10000):\n with open(sys.argv[1], 'rb') as f: f.read()",
          mount.path("d/a b+é"))
      }
      #expect(result.succeeded, "\(result)")
      #expect(cost.total == 0)
      try await bucket.put("d/a b+é", text)
      let written = ContinuousClock.now
      let isSeen = try await eventually(within: .seconds(10)) { try await mount.text("d/a b+é") == text }
      let time = ContinuousClock.now - written
      #expect(isSeen && time < .seconds(3), "\(time)")
    }

    #expect(await mount.errno { _ = try await mount.read("new/f") } == .noEntry)
    try await bucket.put("new/f", "new")
    try await bucket.delete("d/other")
    let isSeen = try await eventually(within: .seconds(10)) {
      let new = try? await mount.text("new/f")
      let names = try await mount.list("d")
      return new == "new" && names == ["a b+é"]
    }
    #expect(isSeen)
    #expect(await mount.errno { _ = try await mount.read("d/other") } == .noEntry)
    #expect(bucket.proxy.requests.allSatisfy { $0.method == "GET" || $0.method == "HEAD" })
  }
}
