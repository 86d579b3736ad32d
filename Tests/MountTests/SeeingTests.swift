// What operators see of a mount: metrics, `top`, `status`, the log, and a bundle without secrets.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct SeeingTests {
  private func bucket() throws -> FakeS3 {
    let server = try FakeS3()
    for number in 0..<5 { server.put("d/f\(number)", content(1000, UInt64(number))) }
    return server
  }

  private func logLines(_ mount: MountFixture) throws -> [String] {
    let directory = mount.cache + "/log"
    return try FileSystem.list(directory).sorted().flatMap { name in
      String(decoding: try FileSystem.read("\(directory)/\(name)"), as: UTF8.self).split(separator: "\n").map(
        String.init)
    }
  }

  @Test func `metrics count what the server counted, by the port and by the socket`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--metrics", "0")
    let mount = stage.mount
    for number in 0..<5 { _ = try await mount.read("d/f\(number)") }
    #expect(await mount.errno { _ = try await mount.read("d/none") } == .noEntry)
    let url = try #require(try await mount.status().text("metrics"))
    #expect(url.hasPrefix("http://127.0.0.1:"))
    for text in [
      try await run(["curl", "-sf", url]).output, try await mount.command(["metrics", mount.point]).output,
      try await mount.command(["metrics"]).output,
    ] {
      #expect(text.hasSuffix("# EOF\n"))
      func sum(_ family: String, _ label: String = "") -> Int {
        text.split(separator: "\n").filter {
          $0.hasPrefix(family + "{") && $0.contains(label) && $0.contains(mount.point)
        }
        .reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
      }
      #expect(sum("s3mirror_requests_total", "kind=\"get\"") == server.sums.gets)
      #expect(sum("s3mirror_requests_total", "kind=\"list\"") == server.sums.lists)
      #expect(sum("s3mirror_cache_objects") == 5)
      #expect(sum("s3mirror_offline") == 0)
      #expect(sum("s3mirror_response_seconds_count", "kind=\"get\"") == server.sums.gets)
    }
    let taken = try MountFixture(server.bucket, endpoint: server.endpoint)
    let port = try #require(url.split(separator: ":").last?.split(separator: "/").first)
    let refused = try await taken.mount(["--metrics", String(port)])
    #expect(refused.status == 1 && refused.errors.contains("--metrics 127.0.0.1:\(port)"), "\(refused)")
    #expect(refused.errors.contains("choose another port"))
    server.stop()
  }

  @Test func `top shows one frame where there is no terminal, and leaves one as it was`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--freshness", "1h")
    let mount = stage.mount
    for _ in 0..<3 { for number in 0..<5 { _ = try await mount.read("d/f\(number)") } }
    let frame = try await mount.command(["top", mount.point, "--once"])
    #expect(frame.succeeded, "\(frame)")
    let lines = frame.output.split(separator: "\n").map(String.init)
    #expect(lines.first?.hasPrefix("s3mirror top  ") == true && lines.first?.hasSuffix("q leaves") == true)
    #expect(lines.contains { $0.hasPrefix("online, mounted ") })
    #expect(lines.contains { $0.contains("5 get,") } && lines.contains { $0.contains("5 objects") }, "\(frame)")
    let screen = try await python(
      """
      import os, pty, select, struct, sys, fcntl, termios, time
      child, terminal = pty.fork()
      if child == 0:
          os.environ["TERM"] = "xterm"
          os.execvp(sys.argv[1], sys.argv[1:2] + ["top", sys.argv[2], "--interval", "200ms"])
      fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
      before = termios.tcgetattr(terminal)[3]
      seen = b""; end = time.time() + 3
      while time.time() < end and seen.count(b"\\x1b[H") < 3:
          if select.select([terminal], [], [], 0.1)[0]: seen += os.read(terminal, 65536)
      os.write(terminal, b"q")
      while True:
          try: part = os.read(terminal, 65536)
          except OSError: break
          if not part: break
          seen += part
      status = os.waitpid(child, 0)[1]
      frames = seen.split(b"\\x1b[H")[1:]
      assert len(frames) >= 3, seen
      assert all(frame.count(b"\\r\\n") < 24 for frame in frames), frames
      assert seen.startswith(b"\\x1b[?1049h\\x1b[?25l"), seen[:40]
      assert seen.endswith(b"\\x1b[?25h\\x1b[?1049l"), seen[-40:]
      print("status", status)
      """, try #require(MountFixture.program), mount.point)
    #expect(screen.output == "status 0\n", "\(screen)")
    server.stop()
  }

  @Test func `an outage is seen in status, in top and in metrics`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    _ = try await mount.read("d/f1")
    server.mode = .refuse
    try await pass(.seconds(1))
    _ = try await mount.read("d/f1")
    let isSeen = try await eventually { try await mount.status().text("state") == "offline" }
    #expect(isSeen)
    let status = try await mount.command(["status", mount.point])
    #expect(status.output.contains("offline since 20") && status.output.contains(" stale, "), "\(status)")
    #expect(try await mount.command(["top", "--once", mount.point]).output.contains("\nOFFLINE for "))
    #expect(try await mount.command(["metrics", mount.point]).output.contains("s3mirror_offline_since_seconds{"))
    server.stop()
  }

  // A123, A124
  @Test func `the log has a line for what happens and none for what is usual`() async throws {
    let server = try bucket()
    for number in 0..<200 { server.put("bad//\(number)", "x") }
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    for _ in 0..<20 {
      _ = try await mount.list("d")
      _ = try? await mount.list("bad")
      _ = try await mount.read("d/f1")
      #expect(await mount.errno { _ = try await mount.read("none") } == .noEntry)
    }
    _ = try await mount.shell("ls -l d; cat d/f1 >/dev/null; getfattr -d -m - d/f1 2>/dev/null; true")
    try await pass(.seconds(1))
    _ = try await mount.read("d/f1")
    server.mode = .refuse
    try await pass(.seconds(1))
    for _ in 0..<50 { _ = try await mount.read("d/f1") }
    #expect(try await eventually { try logLines(mount).contains { $0.contains("the origin can't be reached") } })
    server.mode = .ok
    #expect(try await eventually { try logLines(mount).contains { $0.contains("the origin answers again") } })
    try await mount.unmount()
    let lines = try logLines(mount)
    #expect(lines.count < 12, "\(lines)")
    #expect(lines.contains { $0.contains("notice: mounted ") })
    #expect(lines.contains { $0.contains("the mount ends (unmounted)") || $0.contains("the mount ends (") }, "\(lines)")
    server.stop()
  }

  @Test func `the log level changes in a living mount`() async throws {
    let server = try bucket()
    let stage = try await server.mounted()
    let mount = stage.mount
    _ = try await mount.read("d/f0")
    #expect(try !logLines(mount).contains { $0.contains(" debug: ") })
    #expect(try await mount.command(["log-level", mount.point]).output == "\(mount.point): notice\n")
    let changed = try await mount.command(["log-level", "debug", mount.point])
    #expect(changed.output == "\(mount.point): debug, and was notice\n", "\(changed)")
    _ = try await mount.read("d/f1")
    #expect(try logLines(mount).contains { $0.contains(" debug: GetObject") })
    #expect(try await mount.status().text("level") == "debug")
    let wrong = try await mount.command(["log-level", "debgu", mount.point])
    #expect(wrong.status == 2 && wrong.errors.contains("did you mean 'debug'?"), "\(wrong)")
    server.stop()
  }

  @Test func `a log that is moved away goes on in a new file`() async throws {
    let server = try bucket()
    let home = try TemporaryDirectory("log")
    let stage = try await server.mounted("--log-file", home.file("x.log"))
    try FileSystem.rename(home.file("x.log"), to: home.file("x.log.1"))
    _ = try await stage.mount.command(["log-level", "info", stage.mount.point])
    let text = String(decoding: try FileSystem.read(home.file("x.log")), as: UTF8.self)
    #expect(text.contains("the log level is info"))
    // What a crash would write goes there too.
    let daemon = try #require(stage.mount.daemon)
    let errors = try await run(["readlink", "/proc/\(daemon)/fd/2"])
    #expect(errors.output == home.file("x.log") + "\n")
    server.stop()
  }

  @Test func `to the journal each line has its priority`() async throws {
    let server = try FakeS3()
    server.mode = .refuse
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let script = """
      JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" mount --foreground --dir-mode 0444 \
      --endpoint-url "$1" --cache-dir "$2" \(server.bucket) "$3"
      """
    let program = try #require(MountFixture.program)
    let result = try await run(
      ["sh", "-c", script, program, server.endpoint, fixture.cache, fixture.point], environment: fixture.environment)
    #expect(result.errors.contains("<4>--dir-mode 0444"), "\(result)")
    server.stop()
  }

  // A125
  @Test func `a bundle holds state and log, and no secret`() async throws {
    let secrets = (0..<6).map { "MARKERsecret\($0)" + String(repeating: "x", count: 20) }
    let home = try TemporaryDirectory("bundle")
    let config = home.file("config")
    try FileSystem.write(
      Array(
        """
        [profile marked]
        aws_access_key_id = AKIAEXAMPLE
        aws_secret_access_key = \(secrets[0])
        aws_session_token=\(secrets[1])

        """.utf8), to: config, mode: 0o600)
    let server = try bucket()
    let mount = try MountFixture(
      server.bucket, endpoint: server.endpoint,
      environment: [
        "AWS_CONFIG_FILE": config, "AWS_SESSION_TOKEN": secrets[2], "http_proxy": "http://me:\(secrets[3])@127.0.0.1:1",
        "no_proxy": "127.0.0.1",
      ])
    let mounted = try await mount.mount(["--log-level", "debug"])
    #expect(mounted.succeeded, "\(mounted)")
    for number in 0..<3 { _ = try await mount.read("d/f\(number)") }
    // As if something had gone wrong before.
    let log = try #require(try FileSystem.list(mount.cache + "/log").first.map { mount.cache + "/log/" + $0 })
    let line = """
      Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=\(secrets[4])
      GET /b/k?X-Amz-Signature=\(secrets[5])&x=1
      key \(RealServer.secretKey) and \(secrets[0])

      """
    _ = try await run(["sh", "-c", "printf %s \"$0\" >>\"$1\"", line, log])
    let file = home.file("b.tar")
    let result = try await mount.command(["debug", "bundle", file])
    #expect(result.succeeded && result.output.hasPrefix(file), "\(result)")
    #expect(try FileSystem.attributes(file).permissions == 0o600)
    let text = String(decoding: try FileSystem.read(file), as: UTF8.self)
    for secret in secrets + [RealServer.secretKey] { #expect(!text.contains(secret)) }
    let names = Set(try await run(["tar", "-tf", file]).output.split(separator: "\n").map(String.init))
    for name in ["version", "system", "environment"] {
      #expect(names.contains("s3mirror-debug/" + name), "\(names)")
    }
    // Other mounts of this machine are in it as well.
    for name in ["status.json", "log", "arguments"] {
      #expect(names.contains { $0.hasPrefix("s3mirror-debug/mount-") && $0.hasSuffix("/" + name) }, "\(names)")
    }
    #expect(text.contains("GetObject") && text.contains(mount.point) && text.contains("AWS_SESSION_TOKEN is set"))
    #expect(text.contains("s3mirror_requests_total"))
    let status = String(decoding: try FileSystem.read("/proc/\(try #require(mount.daemon))/cmdline"), as: UTF8.self)
    for secret in secrets { #expect(!status.contains(secret)) }
    try await mount.unmount()
    server.stop()
  }
}
