// A daemon that is killed at its worst moment leaves a cache that is right, if smaller.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct CrashTests {
  // A093
  @Test func `kill -9 in the middle of cold reads leaves nothing wrong in the cache`() async throws {
    let server = try FakeS3()
    // Of the first, S3 tells a checksum; of the others nothing proves the bytes but our own digests.
    server.put("d/small", content(3 << 20, 1))
    server.put("d/large", size: 24 << 20, seed: 2)
    server.put("d/twin", size: 24 << 20, seed: 3)
    let prints = [
      "d/small": fingerprint(content(3 << 20, 1)), "d/large": fingerprint(content(24 << 20, 2)),
      "d/twin": fingerprint(content(24 << 20, 3)),
    ]
    let directory = try TemporaryDirectory("crash")
    let cache = directory.file("c")
    for round in 0..<8 {
      let stage = try await server.mounted("--freshness", "1h", cache: cache)
      server.inject(.throttle(bytesPerSecond: 8 << 20), on: .get)
      try await withThrowingTaskGroup { group in
        for name in prints.keys {
          group.addTask {
            let script = """
              import sys
              try:
                with open(sys.argv[1], "rb") as f:
                  while f.read(1 << 16): pass
              except OSError: pass
              """
            _ = try await python(script, stage.mount.path(name))
          }
        }
        // Another moment each time.
        try await Task.sleep(for: .milliseconds(30 + 173 * round))
        try await stage.mount.killDaemon()
        try await group.waitForAll()
      }
      let verified = try await stage.mount.command(["cache", "verify", "--cache-dir", cache])
      #expect(verified.succeeded, "round \(round): \(verified)")
      server.clearFaults()
      if round % 3 == 1 {
        // What is kept is read as it is, the rest is fetched.
        let again = try await server.mounted("--freshness", "1h", cache: cache)
        for (name, print) in prints {
          let seen = try await again.mount.fingerprint(name)
          #expect(seen == print, "round \(round): \(name)")
        }
        try await again.mount.killDaemon()
        _ = try await again.mount.command(["cache", "evict", "--cache-dir", cache, "s3://bucket/d/large"])
      }
    }
    server.reset()
    let stage = try await server.mounted("--freshness", "1h", cache: cache)
    for (name, print) in prints { #expect(try await stage.mount.fingerprint(name) == print, "\(name)") }
    #expect(server.sums.bodyBytes < 50 << 20, "nothing was kept")
    let verified = try await stage.mount.command(["cache", "verify", "--cache-dir", cache])
    #expect(verified.succeeded, "\(verified)")
  }
}
