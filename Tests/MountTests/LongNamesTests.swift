// Names and keys at their limits, and what other tools leave in place of directories.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct LongNamesTests {
  // A027
  @Test func `names of 255 bytes and keys of 1,024 are files, longer names are hidden, and harm nothing`() async throws
  {
    let server = try FakeS3()
    let longest = String(repeating: "a", count: 255)
    let deep = (0..<500).map { _ in "d" }.joined(separator: "/") + "/f"
    // 1,024 bytes in all.
    let whole = [200, 200, 200, 200, 220].map { String(repeating: "k", count: $0) }.joined(separator: "/")
    for name in [longest, "ok"] { server.put("n/\(name)", name) }
    for (mark, count) in [("b", 256), ("c", 900)] { server.put("n/" + String(repeating: mark, count: count), "x") }
    server.put(deep, "deep")
    server.put(whole, "whole")
    #expect(whole.utf8.count == 1024)
    let mount = try await server.mounted().mount
    #expect(try await mount.list("n") == [longest, "ok"])
    #expect(try await mount.text("n/\(longest)") == longest)
    #expect(await mount.errno { _ = try await mount.read("n/" + String(repeating: "b", count: 256)) } == .nameTooLong)
    #expect(try await mount.text(whole) == "whole")
    #expect(try await mount.text(deep) == "deep")
    // Once more out of the cache alone: no key is the name of a file there.
    server.mode = .refuse
    try await MountFixture.dropKernelCaches()
    #expect(try await mount.text("n/\(longest)") == longest)
    #expect(try await mount.text(whole) == "whole")
    let hidden = try await mount.command(["status", mount.point, "--hidden"])
    #expect(hidden.output.contains("bbbb") && hidden.output.contains("cccc"), "\(hidden)")
  }

  // A028
  @Test func `markers of other tools hide nothing, and cost no request each`() async throws {
    let server = try FakeS3()
    for key in ["h_$folder$", "lone_$folder$", "x", "y"] { server.put(key, "") }
    for key in ["x", "y"] { server.put(key, [], fields: Fields([("Content-Type", "application/x-directory")])) }
    for key in ["h/part-0", "x/f"] { server.put(key, key) }
    let stage = try await server.mounted()
    let mount = stage.mount
    let (names, spent) = try await stage.cost { try await mount.list() }
    // A marker with a name of its own is a file, as in the bucket.
    #expect(names == ["h", "h_$folder$", "lone_$folder$", "x", "y"])
    #expect(spent.heads == 0 && spent.gets == 0, "\(spent)")
    #expect(try await mount.text("h/part-0") == "h/part-0")
    #expect(try await mount.text("x/f") == "x/f")
    #expect(try await mount.list("x") == ["f"])
    #expect(try await mount.read("lone_$folder$") == [])
  }
}
