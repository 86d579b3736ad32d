// `refresh` makes a path stale now, keeps its bytes, and disturbs nobody who uses it.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct RefreshTests {
  // A010
  @Test func `a refresh of a file, a directory or all shows what changed and transfers nothing else`() async throws {
    let bucket = try await RealBucket.make()
    for name in ["d/a", "d/b", "e/c"] { try await bucket.put(name, content(1 << 20, 1)) }
    let stage = try await bucket.mounted("--freshness", "1h")
    let mount = stage.mount
    for name in ["d/a", "d/b", "e/c"] { _ = try await mount.read(name) }
    let held = try await mount.open("d/a")
    _ = try await mount.read(held, at: 0, count: 1)

    try await bucket.put("d/a", content(1 << 20, 2))
    #expect(try await mount.fingerprint("d/a") == fingerprint(content(1 << 20, 1)))
    let one = try await mount.command(["refresh", mount.path("d/a")])
    #expect(one.succeeded)
    #expect(one.output.contains("1 entry"), "\(one)")
    let (a, first) = try await stage.cost { try await mount.fingerprint("d/a") }
    #expect(a == fingerprint(content(1 << 20, 2)))
    #expect(first.total <= 2)
    let (_, others) = try await stage.cost {
      _ = try await mount.read("d/b")
      _ = try await mount.read("e/c")
    }
    #expect(others.total == 0)

    for path in ["d", ""] {
      #expect(try await mount.command(["refresh", mount.path(path)]).succeeded)
      let (seen, cost) = try await stage.cost { () -> [String] in
        var seen: [String] = []
        for name in ["d/a", "d/b", "e/c"] { seen.append(try await mount.fingerprint(name)) }
        return seen
      }
      #expect(seen == [2, 1, 1].map { fingerprint(content(1 << 20, $0)) })
      #expect(cost.total == (path == "" ? 3 : 2), "after a refresh of '\(path)'")
      #expect(cost.lists > 0 || cost.bodyBytes == 0)
      #expect(cost.notModified == cost.gets)
    }
    #expect(try await mount.read(held, at: 1 << 19, count: 100) == Array(content(1 << 20, 1)[(1 << 19)...].prefix(100)))
  }

  // A010
  @Test func `a refresh of what nobody knows is an error`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("d/a", "x")
    let stage = try await bucket.mounted()
    for path in [stage.mount.path("d/nothing"), stage.mount.path("nothing/a"), "/"] {
      let result = try await stage.mount.command(["refresh", path])
      #expect(result.status != 0)
      #expect(!result.errors.isEmpty)
    }
  }

  // A010, A015
  @Test func `a refresh of a directory shows new and deleted names`() async throws {
    let bucket = try await RealBucket.make()
    for name in ["d/a", "d/b", "d/sub/c"] { try await bucket.put(name, "x") }
    let stage = try await bucket.mounted("--freshness", "1h", "--negative-freshness", "1h")
    #expect(try await stage.mount.list("d") == ["a", "b", "sub"])
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/new") } == .noEntry)
    try await bucket.put("d/new", "n")
    try await bucket.delete("d/a")
    #expect(try await stage.mount.list("d") == ["a", "b", "sub"])
    #expect(try await stage.mount.command(["refresh", stage.mount.path("d")]).succeeded)
    #expect(try await stage.mount.list("d") == ["b", "new", "sub"])
    #expect(try await stage.mount.text("d/new") == "n")
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d/a") } == .noEntry)
  }

  @Test(.enabled(if: Machine.isRoot))
  func `what is mounted over a directory or a file of the mount survives a refresh`() async throws {
    let bucket = try await RealBucket.make()
    for name in ["d/sub/f", "d/g"] { try await bucket.put(name, "from the bucket") }
    let stage = try await bucket.mounted("--freshness", "1s")
    let mount = stage.mount
    _ = try await mount.list("d/sub")
    #expect(try await mount.text("d/g") == "from the bucket")
    let (over, file) = (mount.path("d/sub"), mount.path("d/g"))
    let (one, two) = (
      try await run(["mount", "-t", "tmpfs", "tmpfs", over]), try await run(["mount", "--bind", "/etc/hostname", file])
    )
    #expect(one.succeeded && two.succeeded)
    do {
      try FileSystem.write(Array("mine".utf8), to: over + "/f", mode: 0o600)
      for step in 0..<3 {
        if step == 1 { try await bucket.put("d/sub/h", "new") }
        if step == 2 { try await bucket.put("d/k", "new") }
        for path in ["d/sub", "d/g", "d", ""] {
          #expect(try await mount.command(["refresh", mount.path(path)]).succeeded, "refresh of '\(path)'")
        }
        try await pass(.seconds(1))
        _ = try await mount.list("")
        _ = try await mount.list("d")
        try await MountFixture.dropKernelCaches()
        #expect(try await mount.text("d/sub/f") == "mine")
        #expect(try await mount.read("d/g") == FileSystem.read("/etc/hostname"))
      }
    } catch { Issue.record(error) }
    for path in [over, file] { _ = try await run(["umount", "-l", path]) }
    #expect(try await mount.text("d/sub/f") == "from the bucket")
    #expect(try await mount.text("d/g") == "from the bucket")
  }
}
