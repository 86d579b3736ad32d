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
  }
  var openers: [@Sendable (Errno?) -> Void] = []
  /// Readers that have read all that came so far.
  var readers: [Reader] = []
  /// Nothing was known before: names may be shown as they arrive.
  let first: Bool
  var pages = 0
  var overdue = false
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
