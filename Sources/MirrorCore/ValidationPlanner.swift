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
  /// lifetime. Check singly while the checks of the last lifetime cost less; buy at once where the page of the last
  /// lifetime was worth its price.
  func purchase(_ history: SpendingHistory, lifetime: Duration, now: Instant) -> Purchase {
    if now - history.bought < lifetime + lifetime, history.uses >= pageInChecks { return .page }
    return history.checks(within: lifetime, before: now) + 1 > pageInChecks ? .page : .check
  }

  /// The price of a LIST in GETs, rounded down: 12 at AWS.
  let pageInChecks: Int

  init(prices: Prices = Prices()) { pageInChecks = max(1, Int(prices.perList / max(prices.perGet, 1e-12))) }

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
