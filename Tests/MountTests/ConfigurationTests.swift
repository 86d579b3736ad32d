// A mount made by its name in a configuration file, and what SIGHUP has it take over while it lives.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct ConfigurationTests {
  /// The user's own configuration file of a fixture.
  private func configure(_ mount: MountFixture, _ general: String = "", _ section: String = "") throws {
    let home = try #require(mount.environment["XDG_CONFIG_HOME"])
    try FileSystem.makeDirectories(home + "/s3mirror")
    let text = """
      cache-dir = \(mount.cache)
      endpoint-url = \(mount.endpoint)
      \(general)
      [mount "content"]
      source = \(mount.source)
      mountpoint = \(mount.point)
      \(section)
      """
    try FileSystem.write(Array(text.utf8), to: home + "/s3mirror/s3mirror.conf", mode: 0o600)
  }

  private func hangUp(_ mount: MountFixture) async throws {
    #expect(kill(pid_t(try await mount.status().number("pid")), SIGHUP) == 0)
  }

  private func log(_ mount: MountFixture) -> String {
    let directory = mount.cache + "/log"
    return ((try? FileSystem.list(directory)) ?? []).map {
      String(decoding: (try? FileSystem.read(directory + "/" + $0)) ?? [], as: UTF8.self)
    }.joined()
  }

  @Test func `a mount is made by its name, with the options of its section`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    try configure(mount, "file-mode = 0400", "file-mode = 0440\nfreshness = 1h")
    let result = try await mount.command(["mount", "content"])
    #expect(result.succeeded, "\(result)")
    #expect(try await mount.text("d/f") == "content")
    #expect(try await mount.attributes("d/f").permissions == 0o440)
    #expect(try await mount.status().text("source") == server.bucket)
    #expect(try await mount.command(["mount", "content"]).status == 3)
    // The commands that read the cache find it by the same file; it is written about a second late.
    let isListed = try await eventually { try await mount.command(["cache", "ls"]).output.contains("d/f") }
    #expect(isListed)
    let examined = try await mount.command(["doctor", "content"])
    #expect(examined.output.contains(server.endpoint), "\(examined)")
    #expect(try await mount.command(["unmount", mount.point]).succeeded)
    let unknown = try await mount.command(["mount", "contents"])
    #expect(unknown.status == 2 && unknown.errors.contains("did you mean 'content'?"), "\(unknown)")
  }

  @Test func `SIGHUP takes over rules, budget, log level and limits, and says what it can't`() async throws {
    let server = try FakeS3()
    server.put("d/f", "one")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    try configure(mount, "budget = 100req/hour", "freshness = 1h\nnegative-freshness = 1h")
    let mounted = try await mount.command(["mount", "content"])
    #expect(mounted.succeeded, "\(mounted)")
    #expect(try await mount.text("d/f") == "one")
    #expect(await mount.errno { _ = try await mount.text("d/g") } == .noEntry)
    server.put("d/f", "two!")
    server.put("d/g", "new")
    #expect(try await mount.text("d/f") == "one")

    try configure(mount, "budget = 200req/hour\nregion = eu-west-1\ncache-size = 1GiB", "freshness = 1s")
    try await Task.sleep(for: .milliseconds(1200))
    try await hangUp(mount)
    let isTaken = await eventually { self.log(mount).contains("read again") }
    #expect(isTaken, "\(log(mount))")
    // No look-up waits for the end of the hour any more; what the kernel was told is told anew.
    let isNew = try await eventually { try await mount.text("d/f") == "two!" }
    #expect(isNew)
    #expect(try await mount.text("d/g") == "new")
    let text = log(mount)
    #expect(
      text.contains("taken over: cache-size, freshness, negative-freshness, budget"), "\(text)")
    #expect(text.contains("only a new mount takes over: region"), "\(text)")
    let status = try await mount.command(["status", mount.point, "--json"])
    #expect(status.output.contains("\"limit\":\"200req/hour\""), "\(status)")
    #expect(try await mount.status().number("limit") == Double(1 << 30))

    // A mistake changes nothing and is told in one line.
    try configure(mount, "", "freshness = soon")
    try await hangUp(mount)
    let isTold = await eventually { self.log(mount).contains("error: ") }
    #expect(isTold)
    #expect(log(mount).split(separator: "\n").count { $0.contains("error: ") } == 1)
    #expect(log(mount).contains("s3mirror.conf:7: 'freshness = soon'"), "\(log(mount))")
    #expect(try await mount.text("d/f") == "two!")
    #expect(try await mount.command(["unmount", mount.point]).succeeded)
  }

  @Test func `SIGHUP with nothing new asks for nothing`() async throws {
    let server = try FakeS3()
    server.put("d/f", "one")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    try configure(mount, "", "freshness = 1h")
    #expect(try await mount.command(["mount", "content"]).succeeded)
    #expect(try await mount.text("d/f") == "one")
    let before = server.sums.total
    for round in 1...3 {
      try await hangUp(mount)
      let isTaken = await eventually {
        self.log(mount).split(separator: "\n").count { $0.contains("nothing to take over") } == round
      }
      #expect(isTaken, "\(log(mount))")
    }
    #expect(try await mount.text("d/f") == "one")
    #expect(server.sums.total == before)
    #expect(try await mount.command(["unmount", mount.point]).succeeded)
  }
}
