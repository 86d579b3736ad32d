// Programs that look at a little of everything get a little of everything.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct PreviewTests {
  private static let pattern = FakeBody.Pattern(seed: 5)

  private func put(_ server: FakeS3, _ key: String, size: Int64) {
    server.put(
      ObjectKey(key),
      FakeObject(.generated(size: size, pattern: Self.pattern), etag: .value("\"\(key)-2\""), modified: 1_600_000_000))
  }

  // A118
  @Test func `the head of a huge file comes at once, and no more than a little follows`() async throws {
    let server = try FakeS3()
    put(server, "huge", size: 1 << 30)
    let stage = try await server.mounted("--freshness", "600s")
    // 100 Mbit/s.
    server.inject(.throttle(bytesPerSecond: 12_500_000), on: .get)
    let started = ContinuousClock.now
    let head = try await stage.mount.shell("head -c 4096 huge | wc -c")
    #expect(head.output == "4096\n", "\(head)")
    #expect(ContinuousClock.now - started < .seconds(2))
    try await Task.sleep(for: .seconds(3))
    #expect(server.sums.bodyBytes < 9 << 20, "\(server.sums)")
  }

  // A118
  @Test(.enabled(if: findProgram("file") != nil))
  func `a look at the type of a hundred large files takes a small part of them`() async throws {
    let server = try FakeS3()
    for number in 0..<100 { put(server, "d/f\(number)", size: 100 << 20) }
    let stage = try await server.mounted("--freshness", "600s")
    let types = try await stage.mount.shell("file -P bytes=262144 d/* | wc -l", limit: .seconds(60))
    #expect(types.output == "100\n", "\(types)")
    #expect(server.sums.bodyBytes < 100 * 8 << 20, "\(server.sums)")
  }

  // A122
  @Test func `a file manager opens a folder for its pages and the heads of its images, also offline`() async throws {
    let server = try FakeS3()
    for number in 0..<1000 { put(server, "photos/i\(1000 + number).jpg", size: 3 << 20) }
    // Long enough for a machine that is slow with three gigabytes.
    let stage = try await server.mounted(
      "--freshness", "5s", "--negative-freshness", "120s", limit: .seconds(170))
    let script = """
      import os, sys, time
      folder, began = sys.argv[1], time.monotonic()
      def look(name):
        try: os.stat(os.path.join(folder, name))
        except FileNotFoundError: pass
      for name in os.listdir(folder):
        os.stat(os.path.join(folder, name))
      for _ in range(20):
        for name in (".Trash-1000", ".hidden", ".directory", "autorun.inf", "desktop.ini"): look(name)
      for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb", buffering=0) as f: assert len(f.read(65536)) == 65536
      print(time.monotonic() - began)
      """
    let (first, cost) = try await stage.cost {
      try await python(script, stage.mount.path("photos"), limit: .seconds(90))
    }
    #expect(first.succeeded, "\(first)")
    // Each image its head; the folder may turn stale on the way.
    #expect(cost.lists <= 8 && cost.heads == 0, "\(cost)")
    #expect(cost.gets <= 1000 + 5, "\(cost)")
    // Files of up to a part are fetched whole.
    #expect(cost.bodyBytes <= 1000 * 3 << 20 + 4 << 20)
    server.mode = .blackhole
    try await pass(.seconds(5))
    let started = ContinuousClock.now
    let offline = try await python(script, stage.mount.path("photos"), limit: .seconds(60))
    #expect(offline.succeeded, "\(offline)")
    #expect(ContinuousClock.now - started < .seconds(20))
  }
}
