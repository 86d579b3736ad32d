// A slow or silent origin holds up only those who need it, and signals neither disturb nor trap anybody.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct StallTests {
  /// What a loaded machine may take longer than the program itself would.
  private static let slack = 4.0

  @Test func `a program with a timer of 1 ms opens and stats a slow stale file without EINTR`() async throws {
    let server = try FakeS3()
    server.put("d/f", content(1000, 1))
    let stage = try await server.mounted("--freshness", "always")
    _ = try await stage.mount.read("d/f")
    server.inject(.delay(.milliseconds(25)))
    // The C library's own calls: Python's hide EINTR. Between two calls the moment passes in which an answer counts.
    let script = """
      import collections, ctypes, errno, signal, sys, time
      libc = ctypes.CDLL(None, use_errno=True)
      path, ticks, seen = sys.argv[1].encode(), 0, collections.Counter()
      def tick(*_):
        global ticks
        ticks += 1
      signal.signal(signal.SIGALRM, tick)
      signal.siginterrupt(signal.SIGALRM, False)
      signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
      place = ctypes.create_string_buffer(512)
      def note(result): seen["fine" if result >= 0 else errno.errorcode[ctypes.get_errno()]] += 1
      for index in range(100):
        if index % 2: note(libc.stat(path, place))
        else:
          f = libc.open(path, 0)
          note(f)
          note(libc.read(f, place, 512))
          libc.close(f)
        end = time.monotonic() + 0.11
        while time.monotonic() < end: time.sleep(0.01)
      signal.setitimer(signal.ITIMER_REAL, 0)
      print(dict(seen), ticks > 1000)
      """
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.path("d/f")) }
    #expect(result.output == "{'fine': 150} True\n", "\(result)")
    #expect(cost.total >= 90)
  }

  // A067
  @Test(arguments: ["read", "lookup"])
  func `SIGKILL frees who waits for a silent origin`(what: String) async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, size: 1 << 20, seed: 1) }
    let stage = try await server.mounted("--freshness", what == "read" ? "1h" : "1s")
    _ = try await stage.mount.attributes("d/f")
    if what == "lookup" { try await pass(.seconds(1)) }
    server.mode = .blackhole
    let path = stage.mount.path("d/f")
    let directory = try TemporaryDirectory("waiter")
    let pid = directory.file("pid")
    async let waiter = run(["sh", "-c", "echo $$ > \"$0\"; exec cat \"$1\"", pid, path])
    let process = await eventually { access(pid, F_OK) == 0 }
    #expect(process)
    try await Task.sleep(for: .milliseconds(500))
    let number = try #require(pid_t(String(decoding: FileSystem.read(pid).dropLast(), as: UTF8.self)))
    let state = String(decoding: try FileSystem.read("/proc/\(number)/stat"), as: UTF8.self)
    #expect(state.contains("(cat)"))
    let started = ContinuousClock.now
    kill(number, SIGKILL)
    let ended = try await waiter
    let time = ContinuousClock.now - started
    #expect(ended.status == 128 + SIGKILL)
    #expect(time < .milliseconds(300) * Self.slack, "\(time)")
    server.mode = .ok
    #expect(try await stage.mount.read("d/f").count == 1 << 20)
  }

  @Test func `sixteen cold names of one directory wait for a slow origin together`() async throws {
    let server = try FakeS3()
    // So many that the directory is not listed for the first of them.
    for index in 0..<3000 { server.put("d/f\(index)", "x\(index)") }
    let stage = try await server.mounted("--freshness", "1h")
    _ = try await stage.mount.attributes("d")
    server.inject(.delay(.seconds(2)))
    let script = """
      import os, sys, threading, time
      gate, times = threading.Barrier(16), []
      def work(index):
        gate.wait()
        begun = time.monotonic()
        os.stat(f"{sys.argv[1]}/f{2000 + index * 7}")
        times.append(time.monotonic() - begun)
      threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
      for t in threads: t.start()
      for t in threads: t.join()
      print(len(times), max(times))
      """
    let result = try await python(script, stage.mount.path("d"))
    let words = result.output.split(separator: " ")
    #expect(words.first == "16", "\(result)")
    let longest = try #require(Double(words.last?.dropLast() ?? ""))
    // One after the other it would be 32 s.
    #expect(longest < 2.5 + Self.slack / 4, "\(longest)")
    #expect(longest > 1.9, "nobody had to wait: \(longest)")
  }

  // A068
  @Test func `two hundred stalled readers do not hold up one of a cached file`() async throws {
    let server = try FakeS3()
    server.put("d/cached", content(1 << 20, 1))
    for index in 0..<200 { server.put("d/cold\(index)", size: 1 << 20, seed: UInt64(index)) }
    let stage = try await server.mounted("--freshness", "1h")
    _ = try await stage.mount.list("d")
    _ = try await stage.mount.read("d/cached")
    server.mode = .blackhole
    let directory = try TemporaryDirectory("stalled")
    let (ready, done) = (directory.file("ready"), directory.file("done"))
    let stalled = """
      import os, sys, threading, time
      root, ready, done = sys.argv[1:]
      begun = []
      def work(index):
        try:
          begun.append(index)
          # Where the kernel reads files by itself already this one waits.
          f = os.open(f"{root}/cold{index}", os.O_RDONLY)
          os.read(f, 100)
        except OSError: pass
      for index in range(200): threading.Thread(target=work, args=(index,), daemon=True).start()
      end = time.monotonic() + 10
      while len(begun) < 200 and time.monotonic() < end: time.sleep(0.01)
      time.sleep(0.5)
      open(ready, "w").write(str(len(begun)))
      end = time.monotonic() + 30
      while not os.path.exists(done) and time.monotonic() < end: time.sleep(0.02)
      os.kill(os.getpid(), 9)
      """
    async let readers = python(stalled, stage.mount.path("d"), ready, done)
    let isReady = await eventually(within: .seconds(15)) { (try? FileSystem.read(ready).isEmpty) == false }
    #expect(isReady)
    #expect(String(decoding: try FileSystem.read(ready), as: UTF8.self) == "200")
    var times: [Duration] = []
    for _ in 0..<5 {
      if Machine.isRoot { try await MountFixture.dropKernelCaches() }
      let started = ContinuousClock.now
      let bytes = try await stage.mount.read("d/cached")
      times.append(ContinuousClock.now - started)
      #expect(fingerprint(bytes) == fingerprint(content(1 << 20, 1)))
    }
    let median = times.sorted()[2]
    #expect(median < .milliseconds(50) * Self.slack, "\(times)")
    try FileSystem.write([], to: done, mode: 0o600)
    _ = try await readers
    server.mode = .ok
    #expect(try await stage.mount.read("d/cold7").count == 1 << 20)
  }
}
