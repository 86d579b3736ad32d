// A mount may know a million names: what one costs, and that they are found again.
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct EntryTableTests {
  @Test func `an entry takes 64 bytes and a node 20`() {
    #expect(MemoryLayout<Entry>.stride == 64)
    #expect(MemoryLayout<Node>.stride <= 20)
  }

  @Test func `names are found in the order they came, and a name that went keeps its place`() {
    var table = EntryTable()
    let names = (0..<5000).map { Array("name-\($0 * 7919 % 5000)".utf8) }
    for name in names {
      let slot = table.slot(for: name[...])
      table.update(slot) { $0.kind = .file }
    }
    #expect(table.count == 5000 && table.live == 5000)
    for (slot, name) in names.enumerated() { #expect(table.find(name[...]) == slot) }
    #expect(table.find(Array("name-5000".utf8)[...]) == nil)
    table.update(17) { $0.kind = .none }
    #expect(table.live == 4999)
    #expect(table.slot(for: names[17][...]) == 17)
    #expect(Array(table.name(17)) == names[17])
  }
}
