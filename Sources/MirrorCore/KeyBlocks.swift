// What pages of the listing cost and brought, by the piece of the key space they cover: the input of rent or buy.
import MirrorPlatform
import MirrorStore

/// What was spent on a piece of the key space, what the cheapest plan must have spent on it, and what its last page was
/// good for.
struct SpendingHistory: Equatable {
  /// Somebody asked for a name and nothing fresh was known of it, or it was the first to ask since a page vouched for it.
  private struct Need: Equatable {
    let name: UInt64
    let at: Instant
  }
  /// Of so many needs within a lifetime none is counted any more: about the price of a page in checks.
  static let lanes = 13

  /// When single checks were sent, within the last lifetime at most.
  private var checks: [Instant] = []
  /// Names that were asked for since a page last came, of those that it vouched for.
  private(set) var uses = 0
  /// All checks and pages that were ever bought for it.
  private(set) var allChecks = 0
  private(set) var allPages = 0
  /// Needs of which any page, wherever it begins, can serve at most `lanes`, and any check one: no plan that answered
  /// them can have spent less than they are worth.
  private(set) var needs = 0
  private var counted: [Need] = []

  /// A name is checked singly.
  mutating func noteCheck(_ name: UInt64, _ now: Instant, lifetime: Duration) {
    checks.removeAll { now - $0 >= lifetime }
    checks.append(now)
    allChecks += 1
    noteNeed(name, now, lifetime)
  }

  /// A page is paid for because of a name.
  mutating func notePayment(_ name: UInt64, _ now: Instant, lifetime: Duration) {
    allPages += 1
    noteNeed(name, now, lifetime)
  }

  /// A page of it came, whoever wanted it.
  mutating func notePage() { (checks, uses) = ([], 0) }

  /// The first since a page vouched for this name asks for it.
  mutating func noteUse(_ name: UInt64, _ now: Instant, lifetime: Duration) {
    uses += 1
    noteNeed(name, now, lifetime)
  }

  func checks(within lifetime: Duration, before now: Instant) -> Int { checks.count { now - $0 < lifetime } }

  /// The needs with one of this moment.
  func needs(with name: UInt64, _ now: Instant, lifetime: Duration) -> Int {
    var history = self
    history.noteNeed(name, now, lifetime)
    return history.needs
  }

  private mutating func noteNeed(_ name: UInt64, _ now: Instant, _ lifetime: Duration) {
    counted.removeAll { now - $0.at >= lifetime }
    guard counted.count < Self.lanes, !counted.contains(where: { $0.name == name }) else { return }
    counted.append(Need(name: name, at: now))
    needs += 1
  }
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

  /// A page arrived: it takes the place of the blocks that it overlaps, and goes on with the history of the one
  /// that began where it does.
  mutating func learn(_ block: KeyBlock) {
    var block = block
    if let old = blocks.first(where: { $0.start == block.start && $0.prefix == block.prefix }) {
      block.history = old.history
    }
    block.history.notePage()
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
