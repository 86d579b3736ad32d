// Calls on paths.
import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `The file system` {
  let scratch: Scratch
  init() throws { scratch = try Scratch() }

  @Test func `makes directories with their parents, again without complaint`() throws {
    try FileSystem.makeDirectories(scratch("a/b/c"))
    try FileSystem.makeDirectories(scratch("a/b/c"))
    let made = try FileSystem.attributes(scratch("a/b/c"))
    #expect(made.kind == .directory)
    #expect(made.permissions == 0o700)
    try FileSystem.write([], to: scratch("file"), mode: 0o600)
    #expect(throws: Errno.exists) { try FileSystem.makeDirectory(scratch("file")) }
    #expect(throws: Errno.notDirectory) { try FileSystem.makeDirectories(scratch("file/x")) }
  }

  @Test func `writes a file in place of the old one, whole or not at all`() throws {
    try FileSystem.write(Array("a long old text".utf8), to: scratch("f"), mode: 0o644)
    let old = try File.open(scratch("f"), .read)
    try FileSystem.write(Array("new".utf8), to: scratch("f"), mode: 0o600)
    #expect(try FileSystem.read(scratch("f")) == Array("new".utf8))
    #expect(try FileSystem.attributes(scratch("f")).permissions == 0o600)
    #expect(try old.read(at: 0, count: 100) == Array("a long old text".utf8))
    #expect(try FileSystem.list(scratch.path) == ["f"])
  }

  @Test func `reads a file longer than a buffer, and one without a size`() throws {
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try FileSystem.write(bytes, to: scratch("f"), mode: 0o600)
    #expect(try FileSystem.read(scratch("f")) == bytes)
    #expect(try !FileSystem.read("/proc/self/status").isEmpty)
    #expect(throws: Errno.noEntry) { try FileSystem.read(scratch("none")) }
  }

  @Test func `removes a tree without following links out of it`() throws {
    try FileSystem.makeDirectories(scratch("tree/sub"))
    try FileSystem.write([1], to: scratch("outside"), mode: 0o600)
    try FileSystem.write([1], to: scratch("tree/sub/f"), mode: 0o600)
    #expect(symlink("../outside", scratch("tree/link")) == 0)
    #expect(symlink("..", scratch("tree/up")) == 0)
    try FileSystem.removeTree(scratch("tree"))
    #expect(try FileSystem.list(scratch.path) == ["outside"])
  }

  @Test func `removes a file that may be gone, and no directory`() throws {
    try FileSystem.removeFile(scratch("none"))
    try FileSystem.makeDirectory(scratch("d"))
    #expect(throws: Errno.self) { try FileSystem.removeFile(scratch("d")) }
    try FileSystem.removeDirectory(scratch("d"))
    #expect(throws: Errno.noEntry) { try FileSystem.attributes(scratch("d")) }
  }

  @Test func `tells links from what they lead to`() throws {
    try FileSystem.makeDirectory(scratch("d"))
    #expect(symlink("d", scratch("l")) == 0)
    #expect(try FileSystem.attributes(scratch("l")).kind == .link)
    #expect(try FileSystem.resolve(scratch("l")) == FileSystem.resolve(scratch("d")))
  }

  @Test func `names with bytes that are not text are left out of a list`() throws {
    try FileSystem.write([], to: scratch("é"), mode: 0o600)
    let odd = open(Array(scratch.path.utf8CString.dropLast()) + [47, -1, 0], O_CREAT | O_WRONLY, 0o600)
    #expect(odd >= 0)
    close(odd)
    #expect(try FileSystem.list(scratch.path) == ["é"])
    unlink(Array(scratch.path.utf8CString.dropLast()) + [47, -1, 0])
  }

  @Test(arguments: [("/a/b", "/a"), ("/a", nil), ("/", nil), ("a", nil), ("a/b/c", "a/b")] as [(String, String?)])
  func `knows a path's parent`(_ path: String, _ parent: String?) {
    #expect(FileSystem.parent(of: path) == parent)
  }

  @Test func `has space`() throws {
    let space = try FileSystem.space(scratch.path)
    #expect(space.total >= space.free)
    #expect(space.free > 0)
    #expect(throws: Errno.noEntry) { try FileSystem.space(scratch("none")) }
  }
}
