// One name in a directory, packed: a mount may know a million of them.
import MirrorPlatform
import MirrorStore

/// What is known of a name. Plain data of fixed size; the name itself lies in its table.
struct Entry {
  enum Kind: UInt8 {
    /// The name was here once; its place is kept, so that directory offsets stay true.
    case none
    case file, directory
  }

  /// What is known of what an answer for the object itself said of its freshness.
  enum Stated: UInt8 { case unknown, nothing, something }

  // The order keeps it at 64 bytes: the small fields lie in the padding behind the tag.
  private var tag: EntityTag?
  var kind: Kind = .none
  private var marks: Marks = []
  var stated = Stated.unknown
  /// Index into the mount's table of storage classes; 0 for STANDARD.
  var storageClass: UInt8 = 0
  /// A file's node, or 0 while the kernel knows none; a directory's index.
  var link: UInt32 = 0
  private var size: Int64 = 0
  private var modified: Int64 = .min
  /// When the request that vouched for this revision (or this directory's name) was sent.
  var validated: Instant = .distantPast
  /// When the answer of the last validation was given to the kernel; of what is expired, when somebody told that it is.
  private(set) var answered: Instant = .distantPast

  /// The cache is thought to hold bytes of this revision.
  var cached: Bool {
    get { marks.contains(.cached) }
    set { marks.set(.cached, newValue) }
  }
  /// Whether the cache holds any is known: the catalogue was asked.
  var recalled: Bool {
    get { marks.contains(.recalled) }
    set { marks.set(.recalled, newValue) }
  }
  /// It must be asked for again whatever its age: somebody said so, or its revision turned out to be gone.
  var isExpired: Bool { marks.contains(.expired) }

  /// Somebody has told, after that question was asked, that it must be asked for again.
  func wasTold(since asked: Instant) -> Bool { isExpired && asked < answered }

  /// It must be asked for again; `told` when somebody said so, which no answer to an earlier question undoes.
  mutating func expire(told: Instant?) {
    answered = max(told ?? .distantPast, isExpired ? answered : .distantPast)
    marks.insert(.expired)
  }

  /// The answer to a question that was asked then vouches for it.
  mutating func vouch(_ asked: Instant) {
    validated = max(validated, asked)
    if !wasTold(since: asked) { marks.remove(.expired) }
  }

  mutating func noteAnswered(_ now: Instant) { if !isExpired { answered = now } }

  /// The revision came from a listing: no GET has confirmed its ETag.
  var listedOnly: Bool {
    get { marks.contains(.listedOnly) }
    set { marks.set(.listedOnly, newValue) }
  }
  /// A page vouched for it, and nobody has asked for it since.
  var isUncounted: Bool {
    get { marks.contains(.uncounted) }
    set { marks.set(.uncounted, newValue) }
  }

  /// An answer for the object itself told what its metadata say of the file.
  var isDescribed: Bool {
    get { marks.contains(.described) }
    set { marks.set(.described, newValue) }
  }

  var tagFingerprint: UInt64 { tag?.fingerprint ?? 0 }

  var revision: ObjectRevision {
    get { ObjectRevision(etag: tag, size: size, modified: modified == .min ? nil : modified) }
    set {
      tag = newValue.etag
      size = newValue.size
      modified = newValue.modified ?? .min
    }
  }

  private struct Marks: OptionSet {
    let rawValue: UInt8
    static let cached = Marks(rawValue: 1)
    static let recalled = Marks(rawValue: 2)
    static let expired = Marks(rawValue: 4)
    static let listedOnly = Marks(rawValue: 8)
    static let uncounted = Marks(rawValue: 16)
    static let described = Marks(rawValue: 32)

    mutating func set(_ mark: Marks, _ isSet: Bool) {
      if isSet { formUnion(mark) } else { subtract(mark) }
    }
  }
}
