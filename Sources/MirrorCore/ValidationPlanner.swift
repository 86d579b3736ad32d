// Which request answers a question about a name most cheaply. A pure value: knowledge in, request out.
import MirrorCache
import MirrorPlatform
import MirrorStore

struct ValidationPlanner {
  /// Up to this size a validation asks for the whole object: if it changed, no second request is needed.
  static let wholeLimit: Int64 = 256 << 10
  /// Of a larger one, or one of unknown size, it asks for the first block.
  static let head = ByteRange(0, Blob.blockSize)

  enum Request: Equatable {
    /// GET, answered 304 while the revision is current.
    case validate(EntityTag, ByteRange?)
    /// GET of the first bytes: the name is probably a file.
    case fetch(ByteRange?)
    /// LIST of the keys that begin with the name: it says whether a file or a directory is there, and what else is
    /// near, in one request.
    case sample
  }

  /// A name whose revision is known but no longer fresh.
  func validation(of revision: ObjectRevision, cached: Bool) -> Request {
    // A range of an empty object is an error (416), and all of it is nothing.
    let range = revision.size == 0 ? nil : revision.size <= Self.wholeLimit ? ByteRange(0, Self.wholeLimit) : Self.head
    guard let tag = revision.etag, !tag.bytes.isEmpty else { return .fetch(range) }
    // A small object that is not here will be read, if at all, whole: asking for it now saves the second request.
    return cached || revision.size > Self.wholeLimit ? .validate(tag, range) : .fetch(range)
  }

  enum Purchase { case check, page }

  /// Rent or buy: a page costs as much as `pageInChecks` checks, and vouches for all keys of its block for one
  /// lifetime. Check singly while the checks of the last lifetime cost less. Where the last page was worth its price,
  /// buy sooner if all that was ever spent then still is at most twice what the cheapest plan must have spent: so a
  /// steady use pays for its pages only, and nobody's use, however mean, makes it more than twice the best.
  func purchase(_ history: SpendingHistory, of name: UInt64, lifetime: Duration, now: Instant) -> Purchase {
    if Double(history.checks(within: lifetime, before: now) + 1) > pageInChecks { return .page }
    guard Double(history.uses) >= pageInChecks, lifetime > .zero else { return .check }
    let spent = Double(history.allChecks) + pageInChecks * Double(history.allPages)
    let needs = Double(history.needs(with: name, now, lifetime: lifetime))
    return spent + pageInChecks <= 2 * needs * min(1, pageInChecks / Double(SpendingHistory.lanes)) ? .page : .check
  }

  /// The price of a LIST in GETs: 12.5 at AWS.
  let pageInChecks: Double

  init(prices: Prices = Prices()) { pageInChecks = max(1, prices.perList / max(prices.perGet, 1e-12)) }

  /// A name of which nothing is known. Where only files are known to lie one more is likely, and a GET is a twelfth
  /// of a LIST; where both lie the name has to tell. A name that was absent before is asked for in the one way that
  /// settles both file and directory.
  func discovery(_ name: [UInt8], beside neighbours: Neighbours, wasAbsent: Bool) -> Request {
    guard !wasAbsent, neighbours.files else { return .sample }
    return !neighbours.directories || name.contains(0x2E) ? .fetch(Self.head) : .sample
  }

  /// What is known to lie in a directory.
  struct Neighbours: Equatable {
    var files = false
    var directories = false
  }
}
