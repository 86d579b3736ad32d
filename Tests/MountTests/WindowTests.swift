// Within the window nothing is asked; after it one question serves all who come.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct WindowTests {
  // A008
  @Test func `a thousand opens within the window ask nothing, the first after it asks once`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("d/f", content(16 << 10, 1))
    let stage = try await bucket.mounted("--freshness", "4s")
    try await pass(.seconds(4))
    _ = try await stage.mount.read("d/f")
    let started = ContinuousClock.now
    let (_, inside) = try await stage.cost {
      for _ in 0..<1000 { _ = try await stage.mount.read("d/f", at: 0, count: 16 << 10) }
    }
    try #require(ContinuousClock.now - started < .milliseconds(3800), "too slow a machine for this window")
    #expect(inside.total == 0)
    try await pass(.seconds(4))
    let (_, after) = try await stage.cost { _ = try await stage.mount.read("d/f") }
    #expect(after.total == 1)
    #expect(after.notModified == 1)
    #expect(after.bodyBytes == 0)
  }

  /// What changed while a file was stale.
  enum Change: CaseIterable, Sendable { case nothing, small, large, deleted }

  // A008
  @Test(arguments: Change.allCases, [true, false])
  func `a hundred opens of a stale file at once ask once`(change: Change, refreshed: Bool) async throws {
    let bucket = try await RealBucket.make()
    let size = change == .large ? 6 << 20 : 20_000
    try await bucket.put("d/f", content(size, 1))
    try await bucket.put("d/g", "neighbour")
    let window: Duration = refreshed ? .seconds(600) : .seconds(2)
    let stage = try await bucket.mounted("--freshness", refreshed ? "600s" : "2s")
    let mount = stage.mount
    #expect(try await mount.fingerprint("d/f") == fingerprint(content(size, 1)))
    switch change {
    case .nothing: break
    case .small, .large: try await bucket.put("d/f", content(size, 2))
    case .deleted: try await bucket.delete("d/f")
    }
    if refreshed {
      let result = try await mount.command(["refresh", mount.path("d/f")])
      #expect(result.succeeded, "\(result)")
    } else {
      try await pass(window)
    }
    bucket.proxy.setDelay(.milliseconds(200))
    let script = """
      import collections, errno, hashlib, sys, threading
      path, count = sys.argv[1], 100
      gate, seen = threading.Barrier(count), collections.Counter()
      def work():
        gate.wait()
        try:
          with open(path, "rb") as f: seen[hashlib.sha256(f.read()).hexdigest()] += 1
        except OSError as error: seen[errno.errorcode[error.errno]] += 1
      threads = [threading.Thread(target=work) for _ in range(count)]
      for t in threads: t.start()
      for t in threads: t.join()
      print(*(f"{what} {many}" for what, many in sorted(seen.items())))
      """
    let (result, cost) = try await stage.cost { try await python(script, mount.path("d/f")) }
    let expected =
      change == .deleted ? "ENOENT" : hexadecimal(Digest.value(.sha256, of: content(size, change == .nothing ? 1 : 2)))
    #expect(result.output == "\(expected) 100\n", "\(result)")
    // A large object's first answer is its beginning; the rest follows in a request of its own.
    #expect(cost.total == (change == .large ? 2 : 1))
    #expect(cost.notModified == (change == .nothing ? 1 : 0))
  }

  @Test func `a mount made again within the window asks nothing for what it has`() async throws {
    let bucket = try await RealBucket.make()
    var expected: [String: String] = [:]
    for index in 0..<20 {
      let bytes = content([0, 100, 70_000, 300_000, 2 << 20][index % 5], UInt64(index))
      expected["d\(index % 3)/f\(index)"] = fingerprint(bytes)
      try await bucket.put("d\(index % 3)/f\(index)", bytes)
    }
    let directory = try TemporaryDirectory("cache")
    var stage = try await bucket.mounted("--freshness", "1h", cache: directory.file("c"))
    for (name, print) in expected { #expect(try await stage.mount.fingerprint(name) == print) }
    #expect(try await stage.mount.unmount().succeeded)
    bucket.proxy.reset()
    for kill in [false, true] {
      stage = try await bucket.mounted("--freshness", "1h", cache: directory.file("c"))
      for (name, print) in expected { #expect(try await stage.mount.fingerprint(name) == print) }
      let listing = try await stage.mount.shell("find . -type f | wc -l")
      #expect(listing.output.contains("20"))
      #expect(bucket.proxy.sums.total == 0, "\(bucket.proxy.requests.map(\.target))")
      #expect(try await stage.mount.status().count("get") == 0)
      if kill { try await stage.mount.killDaemon() } else { #expect(try await stage.mount.unmount().succeeded) }
    }
  }

  // A097
  @Test(arguments: [true, false])
  func `a mount made again after the window validates what it has and transfers nothing`(kill: Bool) async throws {
    let server = try FakeS3()
    for index in 0..<100 { server.put("d\(index % 4)/f\(index)", content(100_000, UInt64(index))) }
    let directory = try TemporaryDirectory("cache")
    var stage = try await server.mounted("--freshness", "2s", cache: directory.file("c"))
    for index in 0..<100 { _ = try await stage.mount.read("d\(index % 4)/f\(index)") }
    // The work of the last five seconds may be lost in a crash.
    try await Task.sleep(for: .seconds(5))
    if kill { try await stage.mount.killDaemon() } else { try await stage.mount.unmount() }
    server.reset()
    stage = try await server.mounted("--freshness", "2s", cache: directory.file("c"))
    for index in 0..<100 {
      #expect(try await stage.mount.read("d\(index % 4)/f\(index)") == content(100_000, UInt64(index)))
    }
    #expect(server.sums.total <= 100, "\(server.sums)")
    #expect(server.requests(.get).allSatisfy { $0.bytesSent == 0 })
  }

  // A008
  @Test func `a failed validation is no validation`() async throws {
    let server = try FakeS3()
    server.put("d/f", "old")
    server.put("d/g", "other")
    let stage = try await server.mounted("--freshness", "30s")
    #expect(try await stage.mount.text("d/f") == "old")
    server.inject(.status(500, code: "InternalError"), on: .get, key: "d/f")
    server.put("d/f", "new")
    #expect(try await stage.mount.command(["refresh", stage.mount.path("d/f")]).succeeded)
    let (seen, cost) = try await stage.cost { try? await stage.mount.text("d/f") }
    #expect(seen == "old")
    #expect(cost.failed >= 1)
    server.clearFaults()
    let caughtUp = try await eventually(within: .seconds(25)) { try await stage.mount.text("d/f") == "new" }
    #expect(caughtUp)
  }

  // A009
  @Test func `without a window each open asks once, and nothing is sent twice`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("f", content(200_000, 1))
    let stage = try await bucket.mounted("--freshness", "always")
    _ = try await stage.mount.read("f")
    try await pass(.zero)
    let (_, cost) = try await stage.cost {
      for _ in 0..<5 {
        _ = try await stage.mount.read("f")
        try await pass(.zero)
      }
    }
    #expect(cost.total == 5)
    #expect(cost.notModified == 5)
    #expect(cost.bodyBytes == 0)
  }
}
