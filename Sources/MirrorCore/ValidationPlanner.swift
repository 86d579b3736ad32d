// Which request answers a question about a name most cheaply. A pure value: knowledge in, request out.
import MirrorCache
import MirrorPlatform
import MirrorStore

struct ValidationPlanner {
  /// Up to this size a validation asks for the whole object, where bytes are cheap: if it changed, no second request is
  /// needed.
  static let wholeLimit: Int64 = 256 << 10
  /// Of a larger one, or one of unknown size, it asks for the first block.
  static let head = ByteRange(0, Blob.blockSize)

  enum Request: Equatable {
    /// GET, answered 304 while the revision is current.
    case validate(EntityTag, ByteRange?)
    /// GET of the first bytes: the name is probably a file.
    case fetch(ByteRange?)
    /// HEAD: the first bytes would cost more than the request that they may save.
    case look
    /// LIST of the keys that begin with the name: it says whether a file or a directory is there, and what else is
    /// near, in one request.
    case sample
  }

  /// A name whose revision is known but no longer fresh.
  func validation(of revision: ObjectRevision, cached: Bool) -> Request {
    let isSmall = revision.size <= spare
    // A range of an empty object is an error (416), and all of it is nothing.
    let range =
      revision.size == 0 ? nil : isSmall ? ByteRange(0, spare) : spare >= Blob.blockSize ? Self.head : ByteRange(0, 1)
    guard let tag = revision.etag, !tag.bytes.isEmpty else {
      return isSmall || !looksFirst ? .fetch(range) : .look
    }
    // A small object that is not here will be read, if at all, whole: asking for it now saves the second request.
    return cached || !isSmall ? .validate(tag, range) : .fetch(range)
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

  /// So many bytes are asked for along with an answer, though perhaps nobody reads them: they cost no more than the GET
  /// that they may save. Rent or buy: at most twice the best.
  let spare: Int64

  /// A first block costs more than a HEAD. Then a HEAD and, when somebody reads, a GET cost at most twice what the block
  /// alone would, and a name that is only looked at costs a fraction of it.
  let looksFirst: Bool

  init(prices: Prices = Prices()) {
    pageInChecks = max(1, prices.perList / max(prices.perGet, 1e-12))
    let byte = prices.perByteReceived
    let affordable = byte > 0 ? Int64(min(prices.perGet / byte, Double(Self.wholeLimit))) : Self.wholeLimit
    // Of a larger object only whole blocks are of use.
    spare = affordable < Blob.blockSize ? affordable : affordable / Blob.blockSize * Blob.blockSize
    looksFirst = byte * Double(Blob.blockSize) > prices.perHead
  }

  /// A name of which nothing is known. Where only files are known to lie one more is likely, and a GET is a twelfth
  /// of a LIST; where both lie the name has to tell. A name that was absent before is asked for in the one way that
  /// settles both file and directory.
  func discovery(_ name: [UInt8], beside neighbours: Neighbours, wasAbsent: Bool) -> Request {
    guard !wasAbsent, neighbours.files, !neighbours.directories || name.contains(0x2E) else { return .sample }
    return looksFirst ? .look : .fetch(Self.head)
  }

  /// What is known to lie in a directory.
  struct Neighbours: Equatable {
    var files = false
    var directories = false
  }
}
