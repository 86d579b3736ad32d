// What a blob knows of its blocks: present, checked, being written. Pure values; the blob locks around them.
import MirrorPlatform
import Synchronization

/// A run of bytes on its way into a blob.
final class BlobRun: Sendable {
  let start: Int64
  let end: Int64
  /// Bytes before this one are in the file.
  let position: Atomic<Int64>

  init(start: Int64, end: Int64) {
    self.start = start
    self.end = end
    position = Atomic(start)
  }
}

struct BlobState: Sendable {
  let geometry: BlockGeometry
  var blocks: BlockMap
  /// Present blocks that nobody has checked since a process ended badly; nil when there are none.
  var unverified: BlockMap?
  /// By block, 0 where absent; empty where the catalogue has them and nobody needs them.
  var digests: [UInt64]
  var runs: [BlobRun] = []

  var retains = 0
  /// When it was handed out, until it is first let go.
  var handedOut: Instant?
  var isRetired = false
  /// Bytes in it turned out not to be the object's.
  var isDamaged = false
  var isGone = false

  /// Memory knows of blocks that the row lacks.
  var isUnsaved: Bool
  /// What is yet to be proven: until then nobody can read it, and the row tells nothing new.
  var unproven: [Range<Int64>] = []
  /// The thread that saves has it in its queue.
  var isQueued = false
  var savedUse: Int64
  var savedAt: Instant
  /// Of the row, until everything is checked.
  var era: Int64

  var bytes: Int64 { geometry.bytes(in: blocks) }
  /// Nothing in it is known or may turn out to be wrong.
  var isProven: Bool { unproven.isEmpty && !isDamaged }
  /// Every block is here, and its bytes are those that were sent.
  var isFull: Bool { blocks.isFull && isProven }

  /// Present and trusted.
  func holds(_ block: Int) -> Bool { blocks.contains(block) && !(unverified?.contains(block) ?? false) }

  private func run(receiving offset: Int64) -> BlobRun? {
    runs.first { $0.start <= offset && offset < $0.position.load(ordering: .acquiring) }
  }

  enum Readable { case yes, no, unless(damaged: Int) }

  /// Whether a range can be read, if need be once a block has been checked.
  func readable(_ range: Range<Int64>) -> Readable {
    guard range.lowerBound >= 0, range.upperBound <= geometry.size, !isDamaged,
      !unproven.contains(where: { $0.overlaps(range) })
    else { return .no }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let block = geometry.block(at: offset)
      if holds(block) {
        offset = geometry.end(of: block)
      } else if let run = run(receiving: offset) {
        offset = run.position.load(ordering: .acquiring)
      } else {
        return blocks.contains(block) ? .unless(damaged: block) : .no
      }
    }
    return .yes
  }

  /// The first present block in a range that must be checked.
  func firstUnverified(in range: Range<Int>) -> Int? {
    guard let unverified, !unverified.isEmpty else { return nil }
    return range.first { unverified.contains($0) }
  }

  /// The first run of blocks that are neither present nor being written.
  func missing(from offset: Int64, limit: Int64) -> Range<Int64>? {
    var next = geometry.block(at: max(0, offset))
    while let block = blocks.firstAbsent(from: next) {
      let start = geometry.start(of: block)
      if let run = runs.first(where: { $0.start <= start && start < $0.end }) {
        next = max(block + 1, geometry.block(at: run.end + Blob.blockSize - 1))
        continue
      }
      let most = limit >= geometry.size ? geometry.count : max(1, Int(limit / Blob.blockSize))
      var end = block + 1
      while end < geometry.count, end - block < most, !blocks.contains(end), !isClaimed(end) { end += 1 }
      return start..<geometry.end(of: end - 1)
    }
    return nil
  }

  private func isClaimed(_ block: Int) -> Bool {
    let start = geometry.start(of: block)
    return runs.contains { $0.start <= start && start < $0.end }
  }

  /// A block's bytes have all arrived; false when it was there already.
  mutating func store(_ block: Int, digest: UInt64) -> Bool {
    guard !isGone, blocks.insert(block) else { return false }
    if digests.isEmpty { digests = [UInt64](repeating: 0, count: geometry.count) }
    digests[block] = digest
    isUnsaved = true
    return true
  }

  /// A present block is not what was stored. False when it was not there.
  mutating func drop(_ block: Int) -> Bool {
    if unverified?.contains(block) ?? false { return settle(block, isGood: false) }
    guard blocks.remove(block) else { return false }
    isUnsaved = true
    return true
  }

  /// A check has ended. True when the block was dropped.
  mutating func settle(_ block: Int, isGood: Bool) -> Bool {
    guard unverified?.remove(block) ?? false else { return false }
    if unverified?.isEmpty ?? false {
      unverified = nil
      isUnsaved = true
    }
    if isGood { return false }
    isUnsaved = true
    return blocks.remove(block)
  }
}
