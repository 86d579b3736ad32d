// Which way open files go, as a value.
import Testing

@testable import MirrorFUSE

@Suite(.timeLimit(.minutes(1)))
struct OpenTableTests {
  private func text(_ way: OpenWay<Int>?) -> String {
    switch way {
    case nil: "open"
    case .cached?: "cached"
    case .passthrough(let backing)?: "passthrough \(backing)"
    }
  }

  @Test func `a second handle goes the way of the first`() {
    var table = OpenTable<Int, Int>(limit: 10)
    #expect(text(table.join(1)) == "open")
    #expect(text(table.open(1, .cached)) == "cached")
    #expect(text(table.join(1)) == "cached")
    // The file has become whole meanwhile.
    #expect(text(table.open(1, .passthrough(7))) == "cached")
    #expect(text(table.open(2, .passthrough(8))) == "passthrough 8")
    #expect(text(table.open(2, .passthrough(9))) == "passthrough 8")
    #expect(text(table.open(2, .cached)) == "passthrough 8")
    #expect(table.backings == 1)
  }

  @Test func `a node that was read through us may go the other way after its last handle`() {
    var table = OpenTable<Int, Int>(limit: 10)
    _ = table.open(1, .cached)
    _ = table.open(1, .cached)
    #expect(table.close(1) == nil)
    #expect(text(table.open(1, .passthrough(7))) == "cached")
    #expect(table.close(1) == nil)
    #expect(table.close(1) == nil)
    #expect(!table.contains(1))
    #expect(text(table.open(1, .passthrough(7))) == "passthrough 7")
  }

  @Test func `a file stays ready after its last handle, until the node is forgotten`() {
    var table = OpenTable<Int, Int>(limit: 10)
    _ = table.open(1, .passthrough(7))
    #expect(table.close(1) == nil)
    #expect(text(table.join(1)) == "passthrough 7")
    #expect(table.close(1) == nil)
    #expect(table.forget(1) == 7)
    #expect(table.backings == 0)
    #expect(table.close(1) == nil)
    #expect(table.forget(1) == nil)
  }

  @Test func `a release that comes after the node was forgotten lets the file go`() {
    var table = OpenTable<Int, Int>(limit: 10)
    _ = table.open(1, .passthrough(7))
    _ = table.join(1)
    #expect(table.forget(1) == nil)
    #expect(table.close(1) == nil)
    #expect(table.close(1) == 7)
    #expect(!table.contains(1))
  }

  @Test func `of what nobody has open the oldest is let go, and never what is open`() {
    var table = OpenTable<Int, Int>(limit: 16)
    for node in 0..<17 {
      _ = table.open(node, .passthrough(100 + node))
      #expect(node == 16 || table.trim().isEmpty)
      if node >= 4 { _ = table.close(node) }
    }
    _ = table.join(4)
    _ = table.close(4)
    // 0 to 3 are open, 4 was used last.
    #expect(table.trim() == [105, 106, 107])
    #expect(table.backings == 14)
    #expect((0..<5).allSatisfy(table.contains))
  }

  @Test func `where all are open nothing is let go, and it is not tried at each open`() {
    var table = OpenTable<Int, Int>(limit: 8)
    for node in 0..<100 {
      _ = table.open(node, .passthrough(node))
      #expect(table.trim().isEmpty)
    }
    #expect(table.backings == 100)
    for node in 0..<100 { #expect(table.close(node) == nil) }
    for node in 100..<120 { _ = table.open(node, .passthrough(node)) }
    let dropped = table.trim()
    #expect(dropped.prefix(3) == [0, 1, 2])
    #expect(table.backings == 20, "those that are open")
    #expect(table.removeAll().sorted() == Array(100..<120))
    #expect(table.backings == 0)
  }
}
