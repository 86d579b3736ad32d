// The cache keeps its limit and the disk its last bytes; readers get theirs all the same.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct RoomTests {
  /// Samples what the cache takes on the disk until it is told to end, then prints the most.
  private func largestUse(of directory: String, while step: () async throws -> Void) async throws -> Int64 {
    let stop = directory + ".stop"
    let script = """
      import os, sys, time
      directory, stop = sys.argv[1:]
      most = 0
      while not os.path.exists(stop):
        sum = 0
        for at, _, files in os.walk(directory):
          for name in files:
            if "/blobs/" not in at + "/": continue
            try: sum += os.lstat(os.path.join(at, name)).st_blocks * 512
            except FileNotFoundError: pass
        most = max(most, sum)
        time.sleep(0.02)
      print(most)
      """
    async let sampled = python(script, directory, stop, limit: .seconds(120))
    do { try await step() } catch {
      try? FileSystem.write([], to: stop, mode: 0o600)
      throw error
    }
    try FileSystem.write([], to: stop, mode: 0o600)
    let result = try await sampled
    try? FileSystem.removeFile(stop)
    return try #require(Int64(result.output.dropLast()), "\(result)")
  }

  // A091
  @Test func `the limit holds at every moment, whoever reads, and what was used last stays`() async throws {
    let server = try FakeS3()
    let limit: Int64 = 20 << 20
    let size = 2 << 20
    for index in 0..<30 { server.put("d/f\(index)", size: Int64(size), seed: UInt64(index)) }
    server.put("d/large", size: 15 << 20, seed: 99)
    let directory = try TemporaryDirectory("room")
    let cache = directory.file("c")
    var stage = try await server.mounted("--cache-size", "20MiB", "--freshness", "1h", cache: cache)
    let mount = stage.mount
    let most = try await largestUse(of: cache) {
      for index in 0..<30 {
        let print = try await mount.fingerprint("d/f\(index)")
        #expect(print == fingerprint(content(size, UInt64(index))))
      }
      // The last ones are here, the first ones are not.
      try await MountFixture.dropKernelCaches()
      let (_, last) = try await stage.cost { for index in 25..<30 { _ = try await mount.read("d/f\(index)") } }
      #expect(last.total == 0)
      let held = try await mount.open("d/f29")
      try await withThrowingTaskGroup { group in
        for reader in 0..<8 {
          group.addTask {
            for round in 0..<5 {
              let index = (reader * 7 + round * 11) % 30
              let print = try await mount.fingerprint("d/f\(index)")
              #expect(print == fingerprint(content(size, UInt64(index))))
            }
            let large = try await mount.fingerprint("d/large")
            #expect(large == fingerprint(content(15 << 20, 99)))
          }
        }
        try await group.waitForAll()
      }
      try await MountFixture.dropKernelCaches()
      let bytes = try await mount.read(held, at: 0, count: size)
      #expect(fingerprint(bytes) == fingerprint(content(size, 29)))
    }
    #expect(most <= limit, "\(most)")
    #expect(most > limit / 2, "the sampler saw \(most)")
    let verified = try await mount.command(["cache", "verify", "--cache-dir", cache])
    #expect(verified.succeeded, "\(verified)")
    // A lower limit is kept from the start on.
    #expect(try await mount.unmount().succeeded)
    stage = try await server.mounted("--cache-size", "6MiB", "--freshness", "1h", cache: cache)
    let lowered = await eventually {
      let used = try? await largestUse(of: cache) {}
      return used ?? .max <= 6 << 20
    }
    #expect(lowered)
    #expect(try await stage.mount.fingerprint("d/f3") == fingerprint(content(size, 3)))
  }

  // A092
  @Test func `an object larger than the cache is read through it and costs the others nothing`() async throws {
    let server = try FakeS3()
    for index in 0..<4 { server.put("d/f\(index)", size: 1 << 20, seed: UInt64(index)) }
    server.put("d/huge", size: 30 << 20, seed: 50)
    let stage = try await server.mounted("--cache-size", "8MiB", "--freshness", "1h")
    for index in 0..<4 { _ = try await stage.mount.read("d/f\(index)") }
    #expect(try await stage.mount.fingerprint("d/huge") == fingerprint(content(30 << 20, 50)))
    try await MountFixture.dropKernelCaches()
    let (_, cost) = try await stage.cost { for index in 0..<4 { _ = try await stage.mount.read("d/f\(index)") } }
    #expect(cost.total == 0)
  }

  // A090
  @Test(.enabled(if: Machine.isRoot)) func `a full disk is no trouble for readers, and leaves nothing wrong behind`()
    async throws
  {
    let server = try FakeS3()
    for index in 0..<10 { server.put("d/f\(index)", size: 6 << 20, seed: UInt64(index)) }
    server.put("d/large", size: 80 << 20, seed: 70)
    let directory = try TemporaryDirectory("disk")
    let disk = directory.file("disk")
    try FileSystem.makeDirectory(disk)
    let mounted = try await run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk])
    try #require(mounted.succeeded, "\(mounted)")
    do {
      let log = directory.file("log")
      let stage = try await server.mounted(
        "--cache-size", "10GiB", "--min-free", "0", "--freshness", "1h", "--log-file", log, cache: disk + "/c")
      let filled = try await run(["sh", "-c", "dd if=/dev/zero of=\"$0\" bs=1M count=50", disk + "/filler"])
      #expect(filled.succeeded)
      for _ in 0..<2 {
        for index in 0..<10 {
          let print = try await stage.mount.fingerprint("d/f\(index)")
          #expect(print == fingerprint(content(6 << 20, UInt64(index))), "f\(index)")
        }
        let print = try await stage.mount.fingerprint("d/large")
        #expect(print == fingerprint(content(80 << 20, 70)))
        try await MountFixture.dropKernelCaches()
      }
      let lines = String(decoding: try FileSystem.read(log), as: UTF8.self).split(separator: "\n")
      #expect(lines.count <= 20, "\(lines)")
      #expect(lines.contains { $0.contains("no room") || $0.contains("full") || $0.contains("No space") }, "\(lines)")
      // Once there is space again, it is used again, without a restart.
      try FileSystem.removeFile(disk + "/filler")
      let kept = try await eventually(within: .seconds(20)) {
        for index in 0..<3 { _ = try await stage.mount.read("d/f\(index)") }
        try await MountFixture.dropKernelCaches()
        let (_, cost) = try await stage.cost { for index in 0..<3 { _ = try await stage.mount.read("d/f\(index)") } }
        if cost.total > 0 { try await Task.sleep(for: .seconds(1)) }
        return cost.total == 0
      }
      #expect(kept)
      let verified = try await stage.mount.command(["cache", "verify", "--cache-dir", disk + "/c"])
      #expect(verified.succeeded, "\(verified)")
      #expect(try await stage.mount.unmount().succeeded)
    } catch { Issue.record(error) }
    _ = try await run(["umount", "-l", disk])
  }
}
