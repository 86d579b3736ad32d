// The names of one directory: found by hash, walked in the order they came, never moved.
import MirrorPlatform

/// Slots are append-only, so a slot number is a stable directory offset.
struct EntryTable {
  private(set) var entries: ContiguousArray<Entry> = []
  private var ends: [UInt32] = []
  private var names: [UInt8] = []
  /// Open addressing over slot numbers, -1 where empty; the length is a power of two.
  private var index: [Int32] = []
  private(set) var live = 0
  /// Moves on with every change of what a reader of the directory is shown, and when the kernel forgets a file.
  private(set) var version: UInt32 = 0

  var count: Int { entries.count }

  subscript(slot: Int) -> Entry {
    _read { yield entries[slot] }
  }

  /// Changes a slot and keeps the count of live names.
  mutating func update<Result>(_ slot: Int, _ body: (inout Entry) -> Result) -> Result {
    let (was, link) = (entries[slot].kind, entries[slot].link)
    let result = body(&entries[slot])
    let kind = entries[slot].kind
    if was == .none && kind != .none { live += 1 }
    if was != .none && kind == .none { live -= 1 }
    if was != kind || link != 0 && entries[slot].link == 0 { noteChange() }
    return result
  }

  mutating func noteChange() { version &+= 1 }

  func name(_ slot: Int) -> ArraySlice<UInt8> {
    names[Int(slot == 0 ? 0 : ends[slot - 1])..<Int(ends[slot])]
  }

  /// The same, where it lies: whoever reads a directory wants thousands.
  func withName<Result>(_ slot: Int, _ body: (Span<UInt8>) -> Result) -> Result {
    body(names.span.extracting(Int(slot == 0 ? 0 : ends[slot - 1])..<Int(ends[slot])))
  }

  /// The slot of a name, live or not.
  func find(_ name: ArraySlice<UInt8>) -> Int? {
    guard !index.isEmpty else { return nil }
    var place = hash(name) & (index.count - 1)
    while index[place] >= 0 {
      let slot = Int(index[place])
      if self.name(slot).elementsEqual(name) { return slot }
      place = (place + 1) & (index.count - 1)
    }
    return nil
  }

  /// The slot of a name, made when it is new.
  mutating func slot(for name: ArraySlice<UInt8>) -> Int {
    if let slot = find(name) { return slot }
    if (entries.count + 1) * 3 > index.count * 2 { grow() }
    let slot = entries.count
    entries.append(Entry())
    names += name
    ends.append(UInt32(names.count))
    place(slot, name)
    return slot
  }

  /// Gives back what the arrays hold in reserve: most directories do not grow any more once they were listed.
  mutating func settle() {
    guard entries.capacity - entries.count > entries.count / 8 else { return }
    entries = Self.exact(entries)
    ends = Array(Self.exact(ContiguousArray(ends)))
    names = Array(Self.exact(ContiguousArray(names)))
  }

  private static func exact<Element>(_ array: ContiguousArray<Element>) -> ContiguousArray<Element> {
    var exact: ContiguousArray<Element> = []
    exact.reserveCapacity(array.count)
    exact.append(contentsOf: array)
    return exact
  }

  private mutating func grow() {
    index = [Int32](repeating: -1, count: max(8, index.count * 2))
    for slot in entries.indices { place(slot, name(slot)) }
  }

  private mutating func place(_ slot: Int, _ name: ArraySlice<UInt8>) {
    var place = hash(name) & (index.count - 1)
    while index[place] >= 0 { place = (place + 1) & (index.count - 1) }
    index[place] = Int32(slot)
  }

  /// FNV-1a, with a last mix: bucket owners choose the names, but no name is compared more than the table holds.
  private func hash(_ name: ArraySlice<UInt8>) -> Int {
    var value: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    value ^= value >> 32
    return Int(truncatingIfNeeded: value & 0x7fff_ffff)
  }
}
