// The kernel remembers the names of a directory, and shows them for as long as they are right.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct DirectoryCacheTests {
  private func names(_ range: Range<Int>) -> [String] { range.map { "f\(100 + $0)" } }

  @Test(.enabled(if: Machine.canTrace)) func `a listing with attributes is read once, then not even from the daemon`()
    async throws
  {
    let server = try FakeS3()
    for name in names(0..<500) { server.put("d/\(name)", "x") }
    let stage = try await server.mounted("--freshness", "60s")
    let first = try await stage.mount.shell("ls -l d | wc -l")
    #expect(first.output == "501\n")
    _ = try await stage.mount.shell("ls -l d | wc -l")
    let calls = try await Upcalls.during(stage.mount) {
      let again = try await stage.mount.shell("ls -l d | wc -l; ls -f d | wc -l")
      #expect(again.output == "501\n502\n")
    }
    #expect(calls[Upcalls.readDirectory] + calls[Upcalls.readDirectoryPlus] == 0, "\(calls.byOpcode)")
    #expect(calls[Upcalls.lookUp] <= 5, "\(calls.byOpcode)")
    // Whom the kernel has no attributes of is not left to ask for them one by one.
    let other = try await server.mounted("--freshness", "60s")
    for _ in 0..<2 { _ = try await other.mount.shell("ls -f d") }
    let plus = try await Upcalls.during(other.mount) { _ = try await other.mount.shell("ls -l d") }
    #expect(plus[Upcalls.lookUp] <= 150, "\(plus.byOpcode)")
  }

  @Test func `what comes, goes and changes shows in a directory that the kernel remembers`() async throws {
    let server = try FakeS3()
    for name in names(0..<50) { server.put("d/\(name)", "one") }
    server.put("d/sub/x", "x")
    let stage = try await server.mounted("--freshness", "500ms", "--negative-freshness", "0s")
    let all = names(0..<50) + ["sub"]
    for _ in 0..<3 {
      #expect(try await stage.mount.list("d").sorted() == all.sorted())
      _ = try await stage.mount.shell("ls -l d")
    }
    server.put("d/new", "new")
    server.delete("d/f100")
    server.put("d/f101", "changed and longer")
    server.put("d/sub2/y", "y")
    let expected = (all.filter { $0 != "f100" } + ["new", "sub2"]).sorted()
    try await pass(.milliseconds(600))
    #expect(try await stage.mount.list("d").sorted() == expected)
    let shown = try await stage.mount.shell("ls -li --time-style=+ d | awk '$NF == \"f101\" { print $1, $6 }'")
    let inode = try await stage.mount.attributes("d/f101").inode
    #expect(shown.output == "\(inode) 18\n")
    // The number in the names is the number of the file.
    let found = try await stage.mount.shell(
      "find d -inum \(inode) -printf '%f\\n'; ls -i d | awk '$2 == \"f101\" { print $1 }'")
    #expect(found.output == "f101\n\(inode)\n")
  }

  @Test func `what others find out is shown to whoever reads the directory next`() async throws {
    let server = try FakeS3()
    for name in names(0..<20) { server.put("d/\(name)", "x") }
    let stage = try await server.mounted("--freshness", "60s", "--negative-freshness", "0s")
    for _ in 0..<2 { _ = try await stage.mount.shell("ls -l d") }
    server.put("d/late", "late")
    // Within the listing's lifetime only who asks by name learns of it; then the directory shows it too.
    let refreshed = try await stage.mount.command(["refresh", stage.mount.path("d")])
    #expect(refreshed.succeeded)
    #expect(try await stage.mount.list("d").contains("late"))
    server.delete("d/late")
    _ = try await stage.mount.command(["refresh", stage.mount.path("d")])
    // By its own name, not by the listing.
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/late") } == .noEntry)
    #expect(try await !stage.mount.list("d").contains("late"))
    // Warming lists the directory past the kernel.
    server.put("d/warmed", "w")
    _ = try await stage.mount.command(["refresh", stage.mount.path("d")])
    _ = try await stage.mount.command(["warm", stage.mount.path("d")])
    #expect(try await stage.mount.list("d").contains("warmed"))
  }
}
