import Glibc
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DirectoryTreeTests {
  let scratch: Scratch
  let tree: DirectoryTree
  init() throws {
    scratch = try Scratch()
    try FileSystem.makeDirectory(scratch("tree"))
    tree = try DirectoryTree.open(scratch("tree"))
  }

  private func put(_ name: String, _ text: String, in directory: DirectoryTree? = nil) throws(Errno) {
    try (directory ?? tree).put(Array(name.utf8), mode: 0o644, modified: 1_600_000_000) { (file) throws(Errno) in
      try file.write(Array(text.utf8), at: 0)
    }
  }

  @Test func `files appear whole, with their time, in place of older ones`() throws {
    try put("a", "first and longer")
    try put("a", "second")
    let below = try tree.directory(Array("d".utf8)).directory(Array("e".utf8))
    try put("b", "deep", in: below)
    #expect(try FileSystem.read(scratch("tree/a")) == Array("second".utf8))
    #expect(try FileSystem.read(scratch("tree/d/e/b")) == Array("deep".utf8))
    #expect(try FileSystem.attributes(scratch("tree/a")).modified == 1_600_000_000)
    #expect(try FileSystem.list(scratch("tree")).sorted() == ["a", "d"])
  }

  @Test func `a file that can't be written leaves nothing`() throws {
    #expect(throws: Errno.noSpace) {
      try tree.put(Array("a".utf8), mode: 0o644, modified: nil) { (_) throws(Errno) in throw Errno.noSpace }
    }
    #expect(try FileSystem.list(scratch("tree")) == [])
  }

  @Test(arguments: ["", ".", "..", "a/b", "/etc", "a\u{0}b"])
  func `no name leads out`(name: String) {
    #expect(throws: Errno.invalid) { try put(name, "x") }
    #expect(throws: Errno.invalid) { _ = try tree.directory(Array(name.utf8)) }
  }

  @Test func `no link is followed`() throws {
    try FileSystem.makeDirectory(scratch("outside"))
    #expect(symlink(scratch("outside"), scratch("tree/link")) == 0)
    #expect(throws: Errno.self) { _ = try tree.directory(Array("link".utf8)) }
    try FileSystem.write(Array("kept".utf8), to: scratch("victim"), mode: 0o600)
    #expect(symlink(scratch("victim"), scratch("tree/file")) == 0)
    try put("file", "new")
    #expect(try FileSystem.read(scratch("victim")) == Array("kept".utf8))
    #expect(try FileSystem.attributes(scratch("tree/file")).kind == .file)
    #expect(try FileSystem.list(scratch("outside")) == [])
  }
}
