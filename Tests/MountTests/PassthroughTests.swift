// Mounts whose whole files the kernel reads by itself: the same content, the same revisions, without us.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

extension Machine {
  /// Whether this kernel lets us, found by doing it.
  static let hasPassthrough = Task {
    guard canMount, isRoot, let server = try? FakeS3(), let stage = try? await server.mounted(passthrough: true) else {
      return false
    }
    return try await stage.mount.status().text("dataPath") == "passthrough"
  }
}

extension FakeS3 {
  func mounted(passthrough: Bool, _ options: String..., cache: String? = nil) async throws -> Stage {
    let mount = try await MountFixture.mounted(
      bucket, endpoint: endpoint, options: ["--data-path", passthrough ? "passthrough" : "cached"] + options,
      cache: cache, limit: .seconds(90))
    return Stage(mount: mount, origin: self)
  }
}

@Suite(.serialized, .timeLimit(.minutes(5)), .enabled { (try? await Machine.hasPassthrough.value) ?? false })
struct PassthroughTests {
  @Test(.enabled(if: Machine.canTrace)) func `a warm file is read and mapped without a READ`() async throws {
    let server = try FakeS3()
    let sizes = ["small": 10, "f": 5_000_001, "large": 20 << 20]
    for (name, size) in sizes { server.put("d/\(name)", size: Int64(size), seed: UInt64(size)) }
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    for name in sizes.keys { _ = try await stage.mount.read("d/\(name)") }
    try await MountFixture.dropKernelCaches()
    let script = """
      import hashlib, mmap, sys
      with open(sys.argv[1], "rb") as f:
        data = f.read()
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        print(f"{len(data)}:{hashlib.sha256(data).hexdigest()} {m[:] == data}", end="")
      """
    let calls = try await Upcalls.during(stage.mount) {
      for (name, size) in sizes {
        let seen = try await python(script, stage.mount.path("d/\(name)"))
        #expect(seen.output == fingerprint(content(size, UInt64(size))) + " True", "\(name): \(seen.errors)")
      }
    }
    #expect(calls[Upcalls.read] == 0, "\(calls.byOpcode)")
    #expect(calls[Upcalls.open] == 3, "\(calls.byOpcode)")
    let text = try await stage.mount.command(["status", stage.mount.point]).output
    #expect(text.contains("data path passthrough"))
  }

  @Test func `a large cold file streams in while it is fetched, and crosses the link once`() async throws {
    let server = try FakeS3()
    let size = 40 << 20
    server.put("f", size: Int64(size), seed: 3)
    server.inject(.throttle(bytesPerSecond: 40 << 20), on: .get)
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    let started = ContinuousClock.now
    let held = try await stage.mount.open("f")
    let first = try await stage.mount.read(held, at: 0, count: 4096)
    #expect(ContinuousClock.now - started < .seconds(1), "the first bytes waited for the last")
    #expect(first == Array(content(size, 3)[..<4096]))
    // One that comes while the first is reading gets the same.
    async let other = stage.mount.fingerprint("f")
    var bytes: [UInt8] = []
    while bytes.count < size { bytes += try await stage.mount.read(held, at: Int64(bytes.count), count: 1 << 20) }
    #expect(fingerprint(bytes) == fingerprint(content(size, 3)))
    #expect(try await other == fingerprint(content(size, 3)))
    let received = server.sums.bodyBytes
    #expect(received < Int64(size) + 2000, "more than it and a listing")
    // As long as somebody has it as it was, all do; and what the kernel drops it asks for again.
    try await MountFixture.dropKernelCaches()
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 3)))
    withExtendedLifetime(held) {}
    #expect(server.sums.bodyBytes == received)
  }

  @Test(.enabled(if: Machine.canTrace)) func `after its last reader a file that has come whole goes the other way`()
    async throws
  {
    let server = try FakeS3()
    let size = 20 << 20
    server.put("f", size: Int64(size), seed: 3)
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 3)))
    let calls = try await Upcalls.during(stage.mount) {
      try await MountFixture.dropKernelCaches()
      #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 3)))
    }
    #expect(calls[Upcalls.read] == 0, "\(calls.byOpcode)")
  }

  @Test(arguments: [2 << 20, 12 << 20]) func `a replaced file keeps its bytes for who has it open or mapped`(size: Int)
    async throws
  {
    let server = try FakeS3()
    server.put("f", content(size, 1))
    let stage = try await server.mounted(passthrough: true, "--freshness", "300ms")
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 1)))
    let held = try await stage.mount.open("f")
    server.put("f", content(size + 5, 2))
    try await pass(.milliseconds(300))
    for _ in 0..<2 {
      #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size + 5, 2)))
      let old = try await stage.mount.read(held, at: 0, count: size + 100)
      #expect(fingerprint(old) == fingerprint(content(size, 1)))
      #expect(try held.attributes().size == Int64(size))
      try await MountFixture.dropKernelCaches()
    }
  }

  @Test func `what is open is not evicted, and what is evicted is read again`() async throws {
    let server = try FakeS3()
    let size = 2 << 20
    for index in 0..<12 { server.put("d/f\(index)", size: Int64(size), seed: UInt64(index)) }
    let stage = try await server.mounted(passthrough: true, "--cache-size", "10MiB", "--freshness", "1h")
    let held = try await stage.mount.open("d/f0")
    for _ in 0..<2 {
      for index in 1..<12 {
        let print = try await stage.mount.fingerprint("d/f\(index)")
        #expect(print == fingerprint(content(size, UInt64(index))))
      }
    }
    try await MountFixture.dropKernelCaches()
    let (bytes, cost) = try await stage.cost { try await stage.mount.read(held, at: 0, count: size) }
    #expect(fingerprint(bytes) == fingerprint(content(size, 0)))
    #expect(cost.total == 0)
    let status = try await stage.mount.status()
    #expect(try status.count("bytes") <= 10 << 20)
    #expect(try status.count("objects") <= 5)
    let verified = try await stage.mount.command(["cache", "verify", "--cache-dir", stage.mount.cache])
    #expect(verified.succeeded, "\(verified)")
  }

  @Test(arguments: [100_000, 5 << 20, 30 << 20]) func `a cold file of a dead origin is EIO, and soon`(size: Int)
    async throws
  {
    let server = try FakeS3()
    server.put("d/f", size: Int64(size), seed: 1)
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    #expect(try await stage.mount.list("d") == ["f"])
    server.mode = .refuse
    let started = ContinuousClock.now
    let errno = await stage.mount.errno { _ = try await stage.mount.read("d/f") }
    #expect(errno == .inputOutput)
    #expect(ContinuousClock.now - started < .seconds(30))
    server.mode = .ok
    let back = try await eventually {
      do { return try await stage.mount.fingerprint("d/f") == fingerprint(content(size, 1)) } catch is Errno {
        return false
      }
    }
    #expect(back)
  }

  @Test func `SIGKILL frees who waits for a small file of a silent origin`() async throws {
    let server = try FakeS3()
    server.put("d/f", size: 1 << 20, seed: 1)
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    _ = try await stage.mount.attributes("d/f")
    server.mode = .blackhole
    let waiter = try await python(
      """
      import os, signal, subprocess, sys, time
      child = subprocess.Popen(["cat", sys.argv[1]], stdout=subprocess.DEVNULL)
      time.sleep(0.5)
      waits = child.poll() is None
      started = time.monotonic()
      child.kill()
      print(waits, child.wait(), time.monotonic() - started < 1.5)
      """, stage.mount.path("d/f"))
    #expect(waiter.output == "True -9 True\n", "\(waiter)")
    server.mode = .ok
    #expect(try await stage.mount.read("d/f").count == 1 << 20)
  }

  @Test func `who has a file open reads on when the daemon is killed, and nobody hangs`() async throws {
    let server = try FakeS3()
    let size = 3 << 20
    server.put("f", size: Int64(size), seed: 1)
    let stage = try await server.mounted(passthrough: true, "--freshness", "1h")
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 1)))
    let held = try await stage.mount.open("f")
    let daemon = try #require(stage.mount.daemon)
    kill(daemon, SIGKILL)
    _ = await eventually { kill(daemon, 0) != 0 }
    try await MountFixture.dropKernelCaches()
    let bytes = try await stage.mount.read(held, at: 0, count: size)
    #expect(fingerprint(bytes) == fingerprint(content(size, 1)))
    #expect(await stage.mount.errno { _ = try await stage.mount.open("f") } == .notConnected)
    try await stage.mount.killDaemon()
    // What the crash left is checked before the kernel gets it.
    let again = try await server.mounted(passthrough: true, "--freshness", "1h", cache: stage.mount.cache)
    #expect(try await again.mount.fingerprint("f") == fingerprint(content(size, 1)))
  }

  @Test func `bytes damaged while nobody looked are never read without us`() async throws {
    let server = try FakeS3()
    let sizes = ["a": 600_000, "b": 4 << 20, "c": 24 << 20]
    for (name, size) in sizes { server.put(name, size: Int64(size), seed: UInt64(size)) }
    let directory = try TemporaryDirectory("damaged")
    var stage = try await server.mounted(passthrough: true, "--freshness", "1h", cache: directory.file("c"))
    for name in sizes.keys { _ = try await stage.mount.read(name) }
    _ = try await stage.mount.unmount()
    let flip = """
      import os, sys
      for at, _, files in os.walk(sys.argv[1]):
        for name in files:
          if "/blobs/" not in at: continue
          with open(os.path.join(at, name), "r+b") as f:
            f.seek(300_001)
            byte = f.read(1)[0]
            f.seek(300_001)
            f.write(bytes([byte ^ 1]))
      """
    #expect(try await python(flip, directory.file("c")).succeeded)
    stage = try await server.mounted(passthrough: true, "--freshness", "1h", cache: directory.file("c"))
    for _ in 0..<3 {
      for (name, size) in sizes {
        #expect(try await stage.mount.fingerprint(name) == fingerprint(content(size, UInt64(size))), "\(name)")
      }
      try await MountFixture.dropKernelCaches()
    }
  }
}

@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Machine.canMount && Machine.isRoot))
struct DataPathTests {
  @Test func `by default files are read through the daemon`() async throws {
    let server = try FakeS3()
    let stage = try await server.mounted(passthrough: false)
    #expect(try await stage.mount.status().text("dataPath") == "cached")
    #expect(try await stage.mount.command(["status", stage.mount.point]).output.contains("data path") == false)
  }

  // An ordinary user mounts by fusermount3, with a device that all may open, seen by this test alone.
  @Test func `without the rights of root files are read through the daemon, and it says so`() async throws {
    guard try await Machine.nobodyCanRun(), let program = MountFixture.program else { return }
    let server = try FakeS3()
    server.put("f", size: 3 << 20, seed: 1)
    let directory = try TemporaryDirectory("ordinary")
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    var environment = fixture.environment
    for name in ["HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] {
      environment[name] = directory.file("home")
    }
    let script = """
      chmod 711 "$0" && install -d -o 65534 -g 65534 -m 700 "$0/home" "$0/home/m"
      mknod -m 666 "$0/fuse" c 10 229 && mount --bind "$0/fuse" /dev/fuse || { echo no device; exit 0; }
      as() { \(Machine.asNobody.joined(separator: " ")) "$@"; }
      as \(program) mount --data-path passthrough --cache-dir "$0/home/c" --log-file "$0/home/log" \\
        --endpoint-url \(server.endpoint) \(server.bucket) "$0/home/m" || exit
      as sha256sum "$0/home/m/f"
      as \(program) status "$0/home/m" --json
      as \(program) status "$0/home/m" | grep "data path"
      as \(program) unmount "$0/home/m"
      grep -c "no passthrough" "$0/home/log"
      """
    let result = try await run(["unshare", "-m", "sh", "-c", script, directory.path], environment: environment)
    if result.output == "no device\n" { return }
    let hash = hexadecimal(Digest.value(.sha256, of: content(3 << 20, 1)))
    #expect(result.output.hasPrefix(hash), "\(result)")
    #expect(result.output.contains(#""dataPath":"cached""#), "\(result)")
    #expect(result.output.contains("CAP_SYS_ADMIN"), "\(result)")
    #expect(result.output.hasSuffix("\n1\n"), "\(result)")
  }

  @Test(arguments: [1, 2]) func `a cache on file systems stacked over others works or says why not`(layers: Int)
    async throws
  {
    let server = try FakeS3()
    server.put("f", size: 3 << 20, seed: 1)
    let directory = try TemporaryDirectory("stacked")
    // Of tmpfs at the bottom, since the test's own directory may lie on a stacked one.
    let script = """
      cd "$0" && mkdir base && mount -t tmpfs tmpfs base || exit 1
      mkdir base/up base/work base/low base/0
      mount -t overlay overlay -o lowerdir=base/low,upperdir=base/up,workdir=base/work base/0 || exit 1
      [ \(layers) = 1 ] && exit
      mkdir base/1 base/up2 base/work2
      mount -t overlay overlay -o lowerdir=base/0,upperdir=base/up2,workdir=base/work2 base/1
      """
    let made = try await run(["sh", "-c", script, directory.path])
    if made.succeeded {
      do {
        let cache = directory.file("base/\(layers - 1)/c")
        let stage = try await server.mounted(passthrough: true, "--freshness", "1h", cache: cache)
        for _ in 0..<2 {
          #expect(try await stage.mount.fingerprint("f") == fingerprint(content(3 << 20, 1)))
          try await MountFixture.dropKernelCaches()
        }
        let path = try await stage.mount.status().text("dataPath")
        let text = try await stage.mount.command(["status", stage.mount.point]).output
        let canPass = (try? await Machine.hasPassthrough.value) ?? false
        #expect(path == (layers == 1 && canPass ? "passthrough" : "cached"), "\(text)")
        if layers == 2, canPass { #expect(text.contains("not passthrough: the cache lies on"), "\(text)") }
        _ = try await stage.mount.unmount()
      } catch { Issue.record(error) }
    }
    _ = try await run(["sh", "-c", "cd \"$0\"; umount -l base/1; umount -l base/0; umount -l base", directory.path])
  }
}
