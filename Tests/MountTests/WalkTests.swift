// Whole trees: a walk costs its pages, copies move what changed, and whoever is impatient can stop.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Machine.canMount))
struct WalkTests {
  private func tree(_ directories: Int, _ files: Int) throws -> FakeS3 {
    let server = try FakeS3()
    for directory in 0..<directories {
      for file in 0..<files {
        server.put(
          "d\(1000 + directory)/f\(100 + file)", [120], etag: .value("\"t\""), modified: 1_600_000_000)
      }
    }
    return server
  }

  // A036, A121
  @Test func `walks of a hundred thousand files in a thousand directories cost their pages, the second nothing`()
    async throws
  {
    let server = try tree(1000, 100)
    let stage = try await server.mounted("--freshness", "600s", limit: .seconds(200))
    let mount = stage.mount
    let table = try await run(["findmnt", "-n", "-o", "FSTYPE", mount.point])
    #expect(table.output == "fuse.s3mirror\n", "what PRUNEFS names: \(table)")
    let (found, first) = try await stage.cost {
      try await mount.shell("find . -xdev -type f -printf '%s %T@\\n' | wc -l", limit: .seconds(120))
    }
    #expect(found.output == "100000\n", "\(found)")
    #expect(
      first.total == first.lists && first.total <= 120,
      "\(server.requests.prefix(30).map { "\($0.query["prefix"] ?? "") \($0.query["delimiter"] ?? "flat") \($0.query["start-after"] ?? "")" })"
    )
    let (again, second) = try await stage.cost {
      try await mount.shell("find . -type f | wc -l; du -s . >/dev/null; ls -lR . | wc -l", limit: .seconds(120))
    }
    #expect(again.succeeded && again.output.hasPrefix("100000\n"), "\(again)")
    #expect(second.total == 0, "\(server.requests.suffix(2).map { "\($0.method) \($0.target)" })")
  }

  // A036
  @Test func `Control-C ends a slow walk`() async throws {
    let server = try tree(1000, 20)
    let stage = try await server.mounted("--freshness", "600s")
    server.inject(.delay(.milliseconds(500)), on: .list)
    let script = """
      import signal, subprocess, sys, time
      walk = subprocess.Popen(["du", "-s", sys.argv[1]], stdout=subprocess.DEVNULL)
      time.sleep(1.5)
      assert walk.poll() is None, "too fast a walk"
      began = time.monotonic()
      walk.send_signal(signal.SIGINT)
      walk.wait()
      print(time.monotonic() - began < 2)
      """
    let result = try await python(script, stage.mount.point)
    #expect(result.output == "True\n", "\(result)")
  }

  @Test func `a long listing of two thousand files in twenty directories costs five requests`() async throws {
    let server = try tree(20, 100)
    let stage = try await server.mounted("--freshness", "600s")
    let listing = try await stage.mount.shell("ls -lR . | grep -c ' f1'")
    #expect(listing.output == "2000\n", "\(listing)")
    #expect(server.sums.total <= 5, "with the mount itself: \(server.sums)")
  }

  // A109
  @Test(.enabled(if: findProgram("rsync") != nil))
  func `rsync moves everything once, then nothing, then the one that changed`() async throws {
    let server = try FakeS3()
    for number in 0..<300 {
      server.put("d\(number % 7)/f\(number)", content(2000, UInt64(number)), modified: 1_600_000_000 + Int64(number))
    }
    let stage = try await server.mounted("--freshness", "3s")
    let directory = try TemporaryDirectory("copy")
    func sync(_ options: String) async throws -> ([Substring], RequestSums) {
      let (result, cost) = try await stage.cost {
        try await run(["rsync", options, stage.mount.point + "/", directory.file("copy") + "/"], limit: .seconds(60))
      }
      #expect(result.succeeded, "\(result)")
      return (result.output.split(separator: "\n").filter { $0.hasPrefix(">f") }, cost)
    }
    let (first, _) = try await sync("-ai")
    #expect(first.count == 300)
    try await pass(.seconds(3))
    let (second, cost) = try await sync("-ai")
    #expect(second == [])
    #expect(cost.total == cost.lists && cost.total <= 8, "\(cost)")
    #expect(try await sync("-aic").0 == [], "the content is the same")
    server.put("d3/f17", content(2000, 999))
    try await pass(.seconds(3))
    let (third, _) = try await sync("-ai")
    #expect(third.count == 1 && third.first?.hasSuffix("d3/f17") == true, "\(third)")
    let copied = try await stage.mount.shell(
      "cp -a --sparse=auto . \"\(directory.file("cp"))\" && diff -r . \"\(directory.file("cp"))\"")
    #expect(copied.succeeded, "\(copied)")
  }

  // A127
  @Test func `a cold tree is read by many at once, though every request is slow`() async throws {
    let server = try FakeS3()
    for number in 0..<1000 { server.put("d\(number % 10)/f\(number)", "x\(number)") }
    let stage = try await server.mounted("--freshness", "600s")
    server.inject(.delay(.milliseconds(50)))
    let started = ContinuousClock.now
    let read = try await stage.mount.shell(
      "find . -type f -print0 | xargs -0 -P32 -n8 cat | wc -c", limit: .seconds(60))
    let taken = ContinuousClock.now - started
    #expect(read.output == "\((0..<1000).reduce(0) { $0 + "x\($1)".utf8.count })\n", "\(read)")
    // 2,000 requests of 50 ms, sixteen at a time; one after the other they take a minute.
    #expect(taken < .milliseconds(6250) * 2, "\(taken)")
    let script = """
      import os, sys, threading
      failed = []
      def look(n):
        try: os.stat(f"{sys.argv[1]}/d{n % 10}/none{n}")
        except FileNotFoundError: pass
        except OSError as error: failed.append(error)
      threads = [threading.Thread(target=look, args=(n,)) for n in range(1000)]
      for t in threads: t.start()
      for t in threads: t.join()
      print(failed)
      """
    let stats = try await python(script, stage.mount.point)
    #expect(stats.output == "[]\n", "\(stats)")
  }
}
