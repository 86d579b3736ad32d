// What a killed daemon leaves is taken over; what lives is never taken for dead.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct DeadMountTests {
  private func stack(_ point: String) throws -> Int {
    String(decoding: try FileSystem.read("/proc/self/mounts"), as: UTF8.self).split(separator: "\n")
      .count { $0.contains(" \(point) ") }
  }

  private func kill(_ mount: MountFixture) async throws {
    let daemon = try #require(mount.daemon)
    Glibc.kill(daemon, SIGKILL)
    let isDead = await eventually { await mount.errno { _ = try await mount.list() } == .notConnected }
    #expect(isDead)
  }

  private func again(_ mount: MountFixture) async throws -> CommandResult {
    try await mount.command(
      ["mount", "--endpoint-url", mount.endpoint, "--cache-dir", mount.cache, mount.source, mount.point])
  }

  // A084
  @Test func `a dead mount is taken over, with its cache, as one mount`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(100_000, 1))
    let stage = try await server.mounted("--freshness", "1h")
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(100_000, 1)))
    try await Task.sleep(for: .milliseconds(1500))
    try await kill(stage.mount)
    server.reset()
    let result = try await again(stage.mount)
    #expect(result.succeeded, "\(result)")
    #expect(try stack(stage.mount.point) == 1)
    #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(100_000, 1)))
    #expect(server.sums.bodyBytes < 100_000)
    #expect(try await stage.mount.command(["unmount", stage.mount.point]).succeeded)
    #expect(try stack(stage.mount.point) == 0)
  }

  // A084
  @Test func `a dead mount is unmounted like a live one`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    try await kill(stage.mount)
    let status = try await stage.mount.command(["status"])
    #expect(!status.timedOut)
    let result = try await stage.mount.command(["unmount", stage.mount.point])
    #expect(result.succeeded, "\(result)")
    #expect(try stack(stage.mount.point) == 0)
    #expect(try await stage.mount.command(["unmount", stage.mount.point]).status == 8)
  }

  /// Kills the daemon while its connection to the kernel is held open elsewhere, as by a thread of its own that waits
  /// for a lock in the kernel: the kernel does not know that nobody answers. `body` runs meanwhile.
  private func orphaned(_ mount: MountFixture, _ body: @Sendable () async throws -> Void) async throws {
    let directory = try TemporaryDirectory("orphan")
    let script = """
      import ctypes, os, sys, time
      process, ready, end = int(sys.argv[1]), sys.argv[2], sys.argv[3]
      libc = ctypes.CDLL(None, use_errno=True)
      handle = os.pidfd_open(process)
      for name in os.listdir(f"/proc/{process}/fd"):
        if os.readlink(f"/proc/{process}/fd/{name}") == "/dev/fuse":
          assert libc.syscall(438, handle, int(name), 0) >= 0
      os.kill(process, 9)
      open(ready, "w").close()
      deadline = time.monotonic() + 60
      while not os.path.exists(end) and time.monotonic() < deadline: time.sleep(0.01)
      """
    let daemon = pid_t(try await mount.status().number("pid"))
    let (ready, end) = (directory.file("ready"), directory.file("end"))
    async let holder = python(script, "\(daemon)", ready, end)
    #expect(await eventually { (try? FileSystem.attributes(ready)) != nil })
    do { try await body() } catch {
      try FileSystem.write([], to: end, mode: 0o600)
      throw error
    }
    try FileSystem.write([], to: end, mode: 0o600)
    _ = try await holder
  }

  @Test(.enabled(if: getuid() == 0)) func `a mount that nobody answers is taken over, and unmounted`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted("--freshness", "1h")
    #expect(try await stage.mount.text("d/f") == "x")
    try await orphaned(stage.mount) {
      let started = ContinuousClock.now
      let result = try await again(stage.mount)
      #expect(result.succeeded, "\(result)")
      #expect(ContinuousClock.now - started < .seconds(8))
      #expect(try stack(stage.mount.point) == 1)
      #expect(try await stage.mount.text("d/f") == "x")
    }
    try await orphaned(stage.mount) {
      let started = ContinuousClock.now
      let result = try await stage.mount.command(["unmount", stage.mount.point])
      #expect(result.succeeded, "\(result)")
      #expect(ContinuousClock.now - started < .seconds(8))
      #expect(try stack(stage.mount.point) == 0)
    }
  }

  // A084: a mount that waits for its origin is slow, not dead.
  @Test(arguments: [ServerMode.ok, .blackhole])
  func `a live mount is refused, and goes on`(mode: ServerMode) async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted("--freshness", "1s")
    let daemon = try #require(stage.mount.daemon)
    #expect(try await stage.mount.text("d/f") == "x")
    try await pass(.seconds(1))
    server.mode = mode
    async let waiting = stage.mount.text("d/f")
    try await Task.sleep(for: .milliseconds(100))
    let started = ContinuousClock.now
    let result = try await again(stage.mount)
    #expect(ContinuousClock.now - started < .seconds(5))
    #expect(result.status == 3, "\(result)")
    #expect(result.errors.contains("already mounted"), "\(result)")
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(try stack(stage.mount.point) == 1)
    #expect(Glibc.kill(daemon, 0) == 0)
    #expect(try await waiting == "x")
    server.mode = .ok
    #expect(try await stage.mount.text("d/f") == "x")
  }

  // A084, A096
  @Test func `one cache has one owner, and the one that is refused names it`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let other = try MountFixture(server.bucket, endpoint: server.endpoint, cache: stage.mount.cache)
    let result = try await other.mount()
    #expect(result.status == 7, "\(result)")
    let daemon = try #require(stage.mount.daemon)
    #expect(result.errors.contains("\(daemon)"), "\(result)")
    #expect(!other.isMounted)
    #expect(try await stage.mount.text("d/f") == "x")
  }

  @Test func `a mount whose process dies while it is asked to unmount is gone as well`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    let daemon = try #require(stage.mount.daemon)
    stage.mount.signal(SIGSTOP)
    async let unmounted = stage.mount.command(["unmount", stage.mount.point])
    // It has connected, and waits for an answer.
    let asks = await eventually {
      stage.mount.allProcesses.contains { process in
        process != daemon && (try? FileSystem.list("/proc/\(process)/fd").count).map { $0 > 3 } == true
      }
    }
    #expect(asks)
    stage.mount.signal(SIGKILL)
    let result = try await unmounted
    #expect(result.succeeded, "\(result)")
    #expect(try stack(stage.mount.point) == 0)
  }

  @Test func `a process that is stopped keeps nobody from the status of the others`() async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stopped = try await server.mounted()
    let running = try await server.mounted()
    stopped.mount.signal(SIGSTOP)
    for command in [["status"], ["metrics"]] {
      let result = try await running.mount.command(command, limit: .seconds(20))
      #expect(result.succeeded && result.output.contains(running.mount.point), "\(result)")
      #expect(result.errors.contains("'\(stopped.mount.point)' can't be asked"), "\(result)")
    }
    stopped.mount.signal(SIGCONT)
    #expect(try await stopped.mount.text("d/f") == "x")
  }

  @Test(arguments: [0, 5, 20, 60])
  func `a mount that ends by itself meanwhile is unmounted, or none`(milliseconds: Int) async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let stage = try await server.mounted()
    #expect(try await stage.mount.text("d/f") == "x")
    stage.mount.signal(SIGTERM)
    try await Task.sleep(for: .milliseconds(milliseconds))
    let result = try await stage.mount.command(["unmount", stage.mount.point])
    #expect(result.succeeded || result.status == 8, "\(result)")
    #expect(await eventually { !stage.mount.isMounted })
  }
}
