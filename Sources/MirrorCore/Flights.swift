// Requests under way, and who waits for their answers: one for each name, one for each listing.
import MirrorPlatform

/// One question about a name, however many ask it.
struct LookupFlight {
  typealias Reply = @Sendable (LookupAnswer) -> Bool
  /// Tells this flight from a later one for the same name.
  let number: UInt64
  var waiters: [Reply]
  /// Whoever had a stale answer to fall back on has been given it; those who come later get it at once.
  var overdue = false
}

/// One listing, however many wait for it.
struct ListingFlight {
  struct Reader {
    let node: NodeID
    let offset: UInt64
    let plus: Bool
    let collector: any DirectoryCollector
    var handle: UInt64 = 0
    /// So many slots come last, see `OpenDirectory`; and not before the listing has ended.
    var skipped = 0
    var mayEnd = true

    /// Offsets of what comes last begin here.
    private static let last: UInt64 = 1 << 30

    /// The slot that comes after an offset, and the offset behind it; nil where there is no more so far.
    func next(_ offset: UInt64, of count: Int) -> (slot: Int, offset: UInt64)? {
      if offset < Self.last {
        let slot = max(Int(offset), skipped)
        if slot < count { return (slot, UInt64(slot + 1)) }
        guard mayEnd else { return nil }
      }
      let slot = Int(clamping: max(offset, Self.last) - Self.last)
      return slot < skipped ? (slot, Self.last + UInt64(slot + 1)) : nil
    }
  }
  var openers: [@Sendable (Errno?) -> Void] = []
  /// Readers that have read all that came so far.
  var readers: [Reader] = []
  /// Nothing was known before: names may be shown as they arrive.
  let first: Bool
  /// Slots of names that were known when it began.
  var known = 0
  var pages = 0
  /// When it was begun, or the last page came.
  var heard: Instant
  var overdue = false
}

/// A directory that somebody reads.
struct OpenDirectory {
  let directory: Int?
  /// It was opened while its first listing came in. What was known of before that is not vouched for until the listing
  /// has ended: so many slots, shown last.
  var skipped = 0
  var isPartial = false
  /// What that listing failed with: there is more, and nobody knows what.
  var failure: Errno?
}

/// What was served, by where it came from.
public struct ServedCounts: Equatable, Sendable {
  /// Revisions whose bytes were fetched, whole or in part.
  public var fetched = 0
  /// Revisions confirmed by a 304.
  public var revalidated = 0
  /// Look-ups of files answered from memory.
  public var fresh = 0
  /// Answers given past their lifetime because the origin could not be asked.
  public var stale = 0
  /// Answers that a name does not exist.
  public var negative = 0
}
