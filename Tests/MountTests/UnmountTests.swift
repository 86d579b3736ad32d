// Unmounting while programs use the mount, and while the server says nothing.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct UnmountTests {
  // A085
  @Test func `a mount in use stays and says by whom; lazily it goes from sight`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let mount = stage.mount
    let daemon = try #require(mount.daemon)
    let held = try await mount.open("d/f")
    let refused = try await mount.command(["unmount", mount.point])
    #expect(refused.status == 1, "\(refused)")
    #expect(
      refused.errors.hasPrefix("s3mirror: '\(mount.point)' is busy, used by ")
        && refused.errors.contains("(\(getpid()))") && refused.errors.hasSuffix("end these, or use --lazy\n"),
      "\(refused)")
    #expect(try await mount.text("d/f") == "x")
    let lazy = try await mount.command(["unmount", "--lazy", mount.point])
    #expect(lazy.succeeded, "\(lazy)")
    #expect(lazy.output.contains("process \(daemon) ends when the last open file is closed"), "\(lazy)")
    #expect(!mount.isMounted)
    #expect(try await mount.read(held, at: 0, count: 10) == Array("x".utf8))
    #expect(kill(daemon, 0) == 0)
    _ = consume held
    let isGone = await eventually { kill(daemon, 0) != 0 }
    #expect(isGone)
    let twice = try await mount.command(["unmount", mount.point])
    #expect(twice.status == 8 && twice.errors.split(separator: "\n").count == 1, "\(twice)")
  }

  @Test func `over a mount that was detached and is in use another is as any, and both are reached`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let mount = stage.mount
    let former = try #require(mount.daemon)
    let held = try await mount.open("d/f")
    #expect(try await mount.command(["unmount", "--lazy", mount.point]).succeeded)
    let again = try await mount.command([
      "mount", "--endpoint-url", mount.endpoint, "--cache-dir", mount.cache + "-again", mount.source, mount.point,
    ])
    #expect(again.succeeded, "\(again)")
    let status = try await mount.status()
    #expect(try status.number("pid") != Double(former))
    let both = try await mount.command(["status"])
    #expect(both.output.contains("process \(former)\n"), "\(both)")
    #expect(try await mount.command(["unmount", mount.point]).succeeded)
    #expect(!mount.isMounted && kill(former, 0) == 0)
    #expect(try await mount.read(held, at: 0, count: 10) == Array("x".utf8))
    _ = consume held
    #expect(await eventually { kill(former, 0) != 0 })
  }

  @Test func `further signals while it ends leave no dead mount`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    for _ in 0..<5 {
      let stage = try await server.mounted()
      let daemon = try #require(stage.mount.daemon)
      #expect(try await stage.mount.text("d/f") == "x")
      for signal in [SIGTERM, SIGTERM, SIGHUP, SIGINT] { kill(daemon, signal) }
      #expect(await eventually { kill(daemon, 0) != 0 })
      #expect(!stage.mount.isMounted)
    }
  }

  // A085
  @Test func `when unmount returns, the process has gone`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let daemon = try #require(stage.mount.daemon)
    #expect(try await stage.mount.text("d/f") == "x")
    #expect(try await stage.mount.command(["unmount", stage.mount.point]).succeeded)
    #expect(!Processes.isRunning(daemon))
  }

  @Test func `a process that can't be asked is waited for, and named if it goes on`() async throws {
    let server = try FakeS3()
    let stage = try await server.mounted()
    let mount = stage.mount
    let daemon = try #require(mount.daemon)
    // As one that is about to end leaves it: mounted, and no socket.
    let find = """
      for inode in $(ls -l "/proc/$0/fd" | sed -n 's/.*socket:.\\([0-9]*\\).*/\\1/p'); do
        awk -v inode="$inode" '$7 == inode && $8 ~ /^\\// { print $8 }' "/proc/$0/net/unix"
      done
      """
    let sockets = try await run(["sh", "-c", find, "\(daemon)"]).output.split(separator: "\n").map(String.init)
    #expect(sockets.count == 1, "\(sockets)")
    for socket in sockets { try FileSystem.removeFile(socket) }
    let refused = try await mount.command(["unmount", mount.point])
    #expect(refused.status == 1 && refused.errors.contains("can't be asked to unmount"), "\(refused)")
    #expect(mount.isMounted)
    async let ending = mount.command(["unmount", mount.point])
    try await Task.sleep(for: .milliseconds(300))
    kill(daemon, SIGTERM)
    let ended = try await ending
    #expect(ended.succeeded, "\(ended)")
    #expect(!mount.isMounted)
  }

  @Test(.enabled(if: Machine.isRoot)) func `who uses a mount for a moment, and can't be named, is waited for`()
    async throws
  {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let over = stage.mount.path("d")
    #expect(try await run(["mount", "-t", "tmpfs", "none", over]).succeeded)
    async let moment = run(["sh", "-c", "sleep 0.5; umount \"$0\"", over])
    let unmounted = try await stage.mount.command(["unmount", stage.mount.point])
    #expect(try await moment.succeeded)
    #expect(unmounted.succeeded, "\(unmounted)")
  }

  // A086
  @Test(arguments: ["SIGTERM", "lazy"])
  func `a silent server holds up no end, and its readers get an error`(way: String) async throws {
    let server = try FakeS3()
    for number in 0..<20 { server.put("d/cold\(number)", "x") }
    let stage = try await server.mounted()
    let mount = stage.mount
    let daemon = try #require(mount.daemon)
    #expect(try await mount.list("d").count == 20)
    server.mode = .blackhole
    let names = (0..<20).map { mount.path("d/cold\($0)") }
    let readers = """
      import errno, sys, threading
      def read(path):
        try: open(path, "rb").read(); words.append("read")
        except OSError as error: words.append(errno.errorcode[error.errno])
      words = []
      threads = [threading.Thread(target=read, args=(path,)) for path in sys.argv[1:]]
      [thread.start() for thread in threads]; [thread.join() for thread in threads]
      print("\\n".join(words))
      """
    async let reading = run(["python3", "-c", readers] + names, limit: .seconds(60))
    try await Task.sleep(for: .seconds(1))
    let started = ContinuousClock.now
    if way == "lazy" {
      let result = try await mount.command(["unmount", "--lazy", mount.point])
      #expect(result.succeeded, "\(result)")
    } else {
      kill(daemon, SIGTERM)
    }
    let isGone = await eventually(within: .seconds(10)) { !mount.isMounted && kill(daemon, 0) != 0 }
    #expect(isGone)
    #expect(ContinuousClock.now - started < .seconds(way == "lazy" ? 8 : 5))
    let told = try await reading
    let lines = Set(told.output.split(separator: "\n").map(String.init))
    #expect(!told.timedOut && lines.isSubset(of: ["ENOTCONN", "EIO", "ECONNABORTED"]) && !lines.isEmpty, "\(told)")
  }

  // A125
  @Test func `secrets are in no log, command line, mount table or cache, and no other user reads the cache`()
    async throws
  {
    let server = try FakeS3()
    server.put("d/f", "content")
    let secrets = ["hush-token-5fd1", "hush-proxy-77aa", RealServer.secretKey]
    let directory = try TemporaryDirectory("secrets")
    let mount = try MountFixture(
      server.bucket, endpoint: server.endpoint,
      environment: [
        "AWS_SESSION_TOKEN": secrets[0], "https_proxy": "http://user:\(secrets[1])@127.0.0.1:9",
        "no_proxy": "127.0.0.1",
      ])
    let log = directory.file("log")
    let program = try #require(MountFixture.program)
    let result = try await run(
      [
        "sh", "-c", "umask 000; exec \"$@\"", "sh", program, "mount", "--endpoint-url", server.endpoint, "--cache-dir",
        mount.cache, "--log-level", "debug", "--log-file", log, server.bucket, mount.point,
      ], environment: mount.environment)
    #expect(result.succeeded, "\(result)")
    #expect(try await mount.text("d/f") == "content")
    server.inject(.status(403, code: "AccessDenied"))
    server.inject(.status(500))
    _ = try? await mount.text("d/none")
    let status = try await mount.command(["status", "--json"])
    let shown = try await mount.command(["config", "show"])
    let daemon = pid_t(try await mount.status().number("pid"))
    let texts = [
      status.output, status.errors, shown.output, result.errors,
      String(decoding: try FileSystem.read("/proc/\(daemon)/cmdline"), as: UTF8.self),
      String(decoding: try FileSystem.read("/proc/self/mounts"), as: UTF8.self),
      String(decoding: try FileSystem.read(log), as: UTF8.self),
    ]
    for secret in secrets { #expect(!texts.contains { $0.contains(secret) }, "\(secret)") }
    #expect(!texts.contains { $0.contains("Signature=") })
    let found = try await run(["grep", "-rlaE", secrets.joined(separator: "|"), mount.cache, log])
    #expect(found.status == 1, "\(found)")
    // A098
    let open = try await run(["find", mount.cache, log, "-perm", "/077", "-printf", "%P %m\n"])
    #expect(open.output.isEmpty, "\(open)")
    #expect(try await mount.command(["unmount", mount.point]).succeeded)
  }
}
