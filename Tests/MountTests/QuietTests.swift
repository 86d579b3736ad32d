// Programs that look at everything, on a real mount: they see what is known, and the server sees nothing.
import MirrorPlatform
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct QuietTests {
  /// A copy of a program under another name.
  private static func copy(_ program: String, as name: String, in directory: TemporaryDirectory) throws -> String {
    let original = try FileSystem.resolve(#require(findProgram(program)))
    let path = directory.file(name)
    try FileSystem.write(try FileSystem.read(original), to: path, mode: 0o700)
    return path
  }

  @Test func `a crawler costs nothing and sees what is known, others see all`() async throws {
    let server = try FakeS3()
    for index in 0..<5 { server.put("d/f\(index)", content(5000, UInt64(index))) }
    server.put("other/x", "never looked at")
    let stage = try await server.mounted("--freshness", "1s", "--quiet-for", "updatedb,tracker-miner-fs-3")
    let mount = stage.mount
    let directory = try TemporaryDirectory("crawler")
    let find = try Self.copy("find", as: "updatedb", in: directory)
    let cat = try Self.copy("cat", as: "tracker-miner-fs-3", in: directory)
    #expect(try await mount.fingerprint("d/f0") == fingerprint(content(5000, 0)))
    try await pass(.seconds(1))
    let (_, cost) = try await stage.cost {
      let found = try await run([find, mount.point, "-type", "f"])
      #expect(found.output.contains("/d/f0"), "\(found)")
      let known = try await run([cat, mount.path("d/f0")])
      #expect(known.succeeded && known.output.utf8.count > 0, "\(known)")
      let cold = try await run([cat, mount.path("d/f1")])
      #expect(!cold.succeeded && cold.errors.contains("Permission denied"), "\(cold)")
      let unknown = try await run([cat, mount.path("other/none/at-all")])
      #expect(!unknown.succeeded, "\(unknown)")
    }
    #expect(cost.total == 0, "\(server.requests.map(\.target))")
    server.put("d/f0", content(5000, 9))
    #expect(try await mount.fingerprint("d/f0") == fingerprint(content(5000, 9)))
    #expect(try await mount.fingerprint("d/f1") == fingerprint(content(5000, 1)))
    #expect(try await mount.list("other") == ["x"])
    #expect(server.sums.total > cost.total)
  }

  @Test func `the name of the process counts, and that of the thread`() async throws {
    let server = try FakeS3()
    server.put("d/f", "known")
    let stage = try await server.mounted("--freshness", "always", "--quiet-for", "crawler")
    #expect(try await stage.mount.text("d/f") == "known")
    try await pass(.seconds(1))
    let script = """
      import sys, threading
      def name(text):
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as f: f.write(text)
      def work(text=None):
        if text: name(text)
        with open(sys.argv[1]) as f: assert f.read() == "known"
      def thread(text):
        t = threading.Thread(target=work, args=(text,))
        t.start()
        t.join()
      name(sys.argv[2])
      thread(sys.argv[3])
      """
    for (process, thread, isQuiet) in [
      ("crawler", "worker", true), ("worker", "crawler", true), ("worker", "worker", false),
    ] {
      let (result, cost) = try await stage.cost {
        try await python(script, stage.mount.path("d/f"), process, thread)
      }
      #expect(result.succeeded, "\(result)")
      #expect((cost.total == 0) == isQuiet, "\(process) \(thread): \(cost)")
    }
  }
}
