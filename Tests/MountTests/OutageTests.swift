// An origin that can't be asked is no reason to lose, hide or hold up what is here.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct OutageTests {
  // Most of the time is spent waiting: these run side by side.

  enum Outage: CaseIterable, Sendable {
    case refused, silent, error500, error503, emptyError, badKeys
    func begin(_ server: FakeS3) {
      switch self {
      case .refused: server.mode = .refuse
      case .silent: server.mode = .blackhole
      case .error500: server.inject(.status(500, code: "InternalError"))
      case .error503: server.inject(.slowDown())
      case .emptyError: server.inject(.answer(500, Fields(), []))
      case .badKeys: server.inject(.status(403, code: "InvalidAccessKeyId"))
      }
    }
    func end(_ server: FakeS3) {
      server.mode = .ok
      server.clearFaults()
    }
  }

  /// Names and hashes of the blobs.
  private func blobs(_ mount: MountFixture) async throws -> String {
    let sums = try await run([
      "sh", "-c", "find \"$0\" -path '*/blobs/*' -type f | sort | xargs sha256sum", mount.cache,
    ])
    #expect(sums.succeeded)
    return sums.output
  }

  // A070, A072
  @Test(arguments: Outage.allCases)
  func `what is cached outlives the outage, untouched`(outage: Outage) async throws {
    let server = try FakeS3()
    var prints: [String: String] = [:]
    for index in 0..<12 {
      let name = "d\(index % 2)/f\(index)"
      let bytes = content([0, 1000, 300_000][index % 3], UInt64(index))
      server.put(name, bytes)
      prints[name] = fingerprint(bytes)
    }
    let directory = try TemporaryDirectory("outage")
    let cache = directory.file("c")
    var stage = try await server.mounted("--freshness", "500ms", "--negative-freshness", "0s", cache: cache)
    for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print) }
    for name in ["", "d0", "d1"] { _ = try await stage.mount.list(name) }
    let before = try await blobs(stage.mount)
    #expect(before.split(separator: "\n").count >= 8)
    outage.begin(server)
    try await pass(.milliseconds(500))
    let end = ContinuousClock.now + .seconds(3)
    var rounds = 0
    while ContinuousClock.now < end || rounds == 0 {
      for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print, "\(name)") }
      #expect(try await stage.mount.list("d0").count == 6)
      rounds += 1
      try await Task.sleep(for: .milliseconds(100))
    }
    let cold = await stage.mount.errno { _ = try await stage.mount.read("d0/never") }
    #expect(cold == (outage == .badKeys ? .accessDenied : .inputOutput))
    #expect(try await blobs(stage.mount) == before)
    // Keys that are refused end a mount at its start.
    if outage == .badKeys { return }
    // And without the daemon that saw the origin well.
    try await stage.mount.killDaemon()
    stage = try await server.mounted("--freshness", "500ms", "--negative-freshness", "0s", cache: cache)
    for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print, "\(name)") }
    #expect(try await blobs(stage.mount) == before)
    outage.end(server)
    server.put("d0/f0", "new")
    let recovered = await eventually(within: .seconds(20)) { (try? await stage.mount.text("d0/f0")) == "new" }
    #expect(recovered)
    let online = try await eventually { try await stage.mount.status().text("state") == "online" }
    #expect(online)
  }

  // A070: who is denied access means it, and still nothing is thrown away.
  @Test func `a refusal is obeyed without losing the copy`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(300_000, 1))
    server.put("d/g", "x")
    let stage = try await server.mounted("--freshness", "500ms")
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(300_000, 1)))
    server.inject(.status(403, code: "AccessDenied"))
    try await pass(.milliseconds(500))
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/f") } == .accessDenied)
    server.clearFaults()
    let (seen, cost) = try await stage.cost { try await stage.mount.fingerprint("d/f") }
    #expect(seen == fingerprint(content(300_000, 1)))
    #expect(cost.notModified == 1)
    #expect(cost.bodyBytes == 0)
  }

  // A069
  @Test(arguments: [ServerMode.refuse, .blackhole])
  func `the outage is found out once: later opens take no time, and the log says it twice`(mode: ServerMode)
    async throws
  {
    let server = try FakeS3()
    for index in 0..<100 { server.put("d/f\(index)", content(1000, UInt64(index))) }
    let directory = try TemporaryDirectory("log")
    let log = directory.file("log")
    let stage = try await server.mounted("--freshness", "1s", "--log-file", log)
    for index in 0..<100 { _ = try await stage.mount.read("d/f\(index)") }
    server.mode = mode
    try await pass(.seconds(1))
    let script = """
      import sys, time
      times = []
      for n in range(100):
        began = time.monotonic()
        with open(f"{sys.argv[1]}/f{n}", "rb") as f: assert len(f.read()) == 1000
        times.append(time.monotonic() - began)
      print(times[0] < 6, sorted(times)[97] < 0.1)
      """
    let opens = try await python(script, stage.mount.path("d"), limit: .seconds(60))
    #expect(opens.output == "True True\n", "\(opens)")
    #expect(try await stage.mount.list("d").count == 100)
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/cold") } == .inputOutput)
    server.mode = .ok
    let online = try await eventually(within: .seconds(20)) { try await stage.mount.status().text("state") == "online" }
    #expect(online)
    let told = String(decoding: try FileSystem.read(log), as: UTF8.self).split(separator: "\n")
    #expect(told.count { $0.contains("the origin can't be reached") } == 1, "\(told)")
    #expect(told.count { $0.contains("the origin answers again") } == 1, "\(told)")
  }

  // A071
  @Test(arguments: [ServerMode.refuse, .blackhole])
  func `after a crash and without a server all that was read is there again`(mode: ServerMode) async throws {
    let server = try FakeS3()
    var prints: [String: String] = [:]
    for index in 0..<30 {
      let name = "a/d\(index % 3)/f\(index)"
      let bytes = content([10, 5000, 200_000, 9 << 20][index == 7 ? 3 : index % 3], UInt64(index))
      server.put(name, bytes)
      prints[name] = fingerprint(bytes)
    }
    let directory = try TemporaryDirectory("offline")
    let cache = directory.file("c")
    var stage = try await server.mounted("--freshness", "2s", cache: cache)
    let found = try await stage.mount.shell("find . -type f | wc -l")
    #expect(found.output == "30\n")
    for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print) }
    // Rows are written about a second late.
    try await Task.sleep(for: .milliseconds(2200))
    try await stage.mount.killDaemon()
    server.mode = mode
    let started = ContinuousClock.now
    stage = try await server.mounted("--freshness", "2s", cache: cache)
    #expect(ContinuousClock.now - started < .seconds(10))
    for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print, "\(name)") }
    let again = try await stage.mount.shell("find . -type f | wc -l")
    #expect(again.output == "30\n", "\(again)")
    #expect(try await stage.mount.status().text("state") == "offline")
    #expect(await stage.mount.errno { _ = try await stage.mount.read("a/d0/never") } == .inputOutput)
    server.mode = .ok
    server.put("a/new", "new")
    let back = await eventually(within: .seconds(20)) { (try? await stage.mount.text("a/new")) == "new" }
    #expect(back)
  }

  @Test func `when the origin falls silent one reader finds out, not one after the other`() async throws {
    let server = try FakeS3()
    for name in ["d/f", "e/g", "e/h"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "500ms")
    for name in ["d/f", "e/g", "e/h"] { #expect(try await stage.mount.text(name) == name) }
    #expect(try await stage.mount.list("e") == ["g", "h"])
    try await pass(.milliseconds(600))
    server.mode = .blackhole
    #expect(try await stage.mount.text("d/f") == "d/f")
    let started = ContinuousClock.now
    #expect(try await stage.mount.text("e/g") == "e/g")
    #expect(try await stage.mount.list("e") == ["g", "h"])
    #expect(try await stage.mount.text("e/h") == "e/h")
    #expect(ContinuousClock.now - started < .seconds(2))
    server.put("e/h", "new")
    server.mode = .ok
    #expect(await eventually(within: .seconds(20)) { (try? await stage.mount.text("e/h")) == "new" })
  }
}
