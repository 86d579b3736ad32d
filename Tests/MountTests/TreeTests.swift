// Directories are the slashes in keys: there from the first action on, wherever the mount begins, at few requests.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct TreeTests {
  enum First: CaseIterable, Sendable { case cat, cd, stat, list }

  // A029
  @Test(arguments: First.allCases, [1000, 3])
  func `a directory without a key of its own is there for the first who comes, and goes with its last key`(
    first: First, pageSize: Int
  ) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = pageSize }
    for name in ["0/1", "0/2", "0/3", "a/b/c.txt", "z/1", "z/2"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "500ms")
    let mount = stage.mount
    switch first {
    case .cat: #expect(try await mount.text("a/b/c.txt") == "a/b/c.txt")
    case .cd: #expect(try await mount.shell("cd a/b && ls").output == "c.txt\n")
    case .stat: #expect(try await mount.shell("stat -c %A a").output == "dr-xr-xr-x\n")
    case .list: #expect(try await mount.list() == ["0", "a", "z"])
    }
    server.delete("a/b/c.txt")
    try await pass(.seconds(1))
    #expect(try await mount.list() == ["0", "z"])
    let gone = await eventually { await mount.errno { _ = try await mount.attributes("a") } == .noEntry }
    #expect(gone)
  }

  // A030
  @Test(arguments: [
    ("p.1", ["x"]), ("p.1/", ["x"]), ("p", ["z"]), ("p/", ["z"]), ("p2", ["w"]), ("deep/er", ["v"]), ("none", []),
  ])
  func `a mount of a prefix shows what lies below it, and no neighbour`(prefix: String, names: [String]) async throws {
    let server = try FakeS3()
    for key in ["p.1/x", "p.1x/y", "p/z", "p2/w", "deep/er/v", "deep/erx/u"] { server.put(key, key) }
    let mount = try await MountFixture.mounted("\(server.bucket)/\(prefix)", endpoint: server.endpoint)
    #expect(try await mount.list() == names)
    for name in names { #expect(try await mount.text(name).hasSuffix("/\(name)")) }
    for name in ["y", "u", "../p2"] where name != "../p2" {
      #expect(await mount.errno { _ = try await mount.attributes(name) } == .noEntry)
    }
  }

  // A035
  @Test(arguments: [1000, 4])
  func `a deep path costs one request to find and one to read`(pageSize: Int) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = pageSize }
    server.put("d1/d2/d3/f", "deep")
    for number in 0..<20 { server.put("d0/f\(number)", "x") }
    let stage = try await server.mounted("--freshness", "600s")
    let (_, first) = try await stage.cost { try await stage.mount.attributes("d1/d2/d3/f") }
    #expect(first.total <= 1 && first.heads == 0, "\(first)")
    let (_, again) = try await stage.cost { for _ in 0..<9 { _ = try await stage.mount.attributes("d1/d2/d3/f") } }
    #expect(again.total == 0)
    let (text, read) = try await stage.cost { try await stage.mount.text("d1/d2/d3/f") }
    #expect(text == "deep")
    #expect((read.gets, read.total) == (1, 1))
  }
}
