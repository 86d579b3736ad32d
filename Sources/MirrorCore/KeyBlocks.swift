// What pages of the listing cost and brought, by the piece of the key space they cover: the input of rent or buy.
import MirrorPlatform
import MirrorStore

/// What was spent on a piece of the key space lately, and what its last page was good for.
struct SpendingHistory: Equatable {
  /// When single checks were sent, within the last lifetime at most.
  private(set) var checks: [Instant] = []
  /// When a page of it was last asked for.
  private(set) var bought = Instant.distantPast
  /// Names that were asked for since, of those that the page vouched for.
  private(set) var uses = 0

  mutating func noteCheck(_ now: Instant, lifetime: Duration) {
    checks.removeAll { now - $0 >= lifetime }
    checks.append(now)
  }
  mutating func notePurchase(_ now: Instant) { (checks, bought, uses) = ([], now, 0) }
  mutating func noteUse() { uses += 1 }

  func checks(within lifetime: Duration, before now: Instant) -> Int { checks.count { now - $0 < lifetime } }
}

/// Keys after `start` up to `end` that one page listed, about as many as a page can hold.
struct KeyBlock {
  /// All its keys begin with it.
  let prefix: [UInt8]
  /// Exclusive.
  let start: [UInt8]
  /// Inclusive; nil: to the last key with the prefix.
  let end: [UInt8]?
  var history = SpendingHistory()

  func contains(_ key: [UInt8]) -> Bool {
    guard key.starts(with: prefix), start.lexicographicallyPrecedes(key) else { return false }
    guard let end else { return true }
    return !end.lexicographicallyPrecedes(key)
  }

  /// Past the last key, for comparison.
  var limit: [UInt8] { end ?? prefix + [0xFF] }
}

/// Blocks in key order; they do not overlap.
struct KeyBlocks {
  /// A page with fewer keys is no block: its keys may belong to a larger one.
  static let smallest = 500

  private(set) var blocks: [KeyBlock] = []

  func index(of key: [UInt8]) -> Int? {
    let index = after(key) - 1
    return index >= 0 && blocks[index].contains(key) ? index : nil
  }

  subscript(index: Int) -> KeyBlock {
    get { blocks[index] }
    set { blocks[index] = newValue }
  }

  /// A page arrived: it takes the place of the blocks that it overlaps.
  mutating func learn(_ block: KeyBlock) {
    blocks.removeAll { old in
      old.start.lexicographicallyPrecedes(block.limit) && block.start.lexicographicallyPrecedes(old.limit)
    }
    blocks.insert(block, at: after(block.start))
  }

  /// The first block that begins at or after a key.
  private func after(_ key: [UInt8]) -> Int {
    var (low, high) = (0, blocks.count)
    while low < high {
      let middle = (low + high) / 2
      if blocks[middle].start.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
