// The origin as this program sees it: four questions, and no verb that writes.
public import MirrorPlatform

/// A bucket. Safe to share; every call is one logical request, which may take several attempts.
public protocol ObjectStore: Sendable {
  /// Asks for an object's bytes; they go to `sink` as they arrive (GetObject).
  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome
  /// Asks for an object's attributes (HeadObject).
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata
  /// Asks for one page of keys (ListObjectsV2), or of their versions (ListObjectVersions).
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage
  /// Asks whether the bucket answers (HeadBucket).
  func probe(deadline: Instant?) async throws(StoreError)
}

/// Bytes `[start, end)`; `end` nil means to the last byte.
public struct ByteRange: Hashable, Sendable {
  public let start: Int64
  public let end: Int64?
  public init(_ start: Int64, _ end: Int64?) {
    self.start = start
    self.end = end
  }
}

/// A precondition (RFC 9110 §13.1); never both: servers disagree on their order.
public enum Condition: Hashable, Sendable {
  case none
  case ifNoneMatch(EntityTag)
  case ifMatch(EntityTag)
}

public struct GetRequest: Sendable {
  public var key: ObjectKey
  /// The id of the version that is meant; nil: the current one.
  public var version: String?
  public var range: ByteRange?
  public var condition: Condition
  /// When the caller gives up, retries included.
  public var deadline: Instant?
  public var purpose: RequestPurpose

  public init(
    key: ObjectKey, version: String? = nil, range: ByteRange? = nil, condition: Condition = .none,
    deadline: Instant? = nil, purpose: RequestPurpose = .content
  ) {
    self.key = key
    self.version = version
    self.purpose = purpose
    self.range = range
    self.condition = condition
    self.deadline = deadline
  }
}

public struct HeadRequest: Sendable {
  public var key: ObjectKey
  /// The id of the version that is meant; nil: the current one.
  public var version: String?
  public var deadline: Instant?
  public var purpose: RequestPurpose
  public init(
    key: ObjectKey, version: String? = nil, deadline: Instant? = nil, purpose: RequestPurpose = .content
  ) {
    self.key = key
    self.version = version
    self.deadline = deadline
    self.purpose = purpose
  }
}

/// The head of a 200 or 206: which bytes of which revision follow.
public struct ObjectHead: Sendable {
  public let metadata: ObjectMetadata
  /// The bytes that follow, `[start, end)`, within `[0, revision.size)`.
  public let start: Int64
  public let end: Int64
  /// A checksum at the end of these bytes tells whether all from here on are right, those of an earlier body that broke
  /// off and that this one is the rest of included: nobody should see them before. Nil: nothing tells.
  public var provenFrom: Int64?

  public init(metadata: ObjectMetadata, start: Int64, end: Int64) {
    self.metadata = metadata
    self.start = start
    self.end = end
  }
  public var revision: ObjectRevision { metadata.revision }
  /// The body is the whole object.
  public var isWhole: Bool { start == 0 && end == revision.size }
}

/// Receives a body. Calls come one at a time from the transfer thread and must not wait for the network.
public protocol ObjectSink: AnyObject, Sendable {
  /// The answer's head, once; false ends the transfer.
  func begin(_ head: ObjectHead) -> Bool
  /// The next bytes; false ends the transfer.
  func receive(_ bytes: RawSpan) -> Bool
}

public enum GetOutcome: Sendable {
  /// Every byte that the head announced was received, and its checksums agree.
  case delivered(ObjectHead)
  /// 304: the tag in the condition is still current; `modified` where the server says so.
  case notModified(modified: Int64?, caching: CachingFields = CachingFields())
  /// The sink ended the transfer.
  case ended
}

public struct ListRequest: Sendable {
  public static let maximumKeys = 1000

  /// Only keys that begin with these bytes.
  public var prefix: ObjectKey
  /// Groups keys by their part up to the next `/` after the prefix.
  public var delimited: Bool
  /// Only keys after this one, exclusive.
  public var startAfter: ObjectKey?
  /// Goes on where the page with this token ended.
  public var continuation: String?
  /// The versions of all objects that there are or were, in place of the current objects.
  public var ofVersions = false
  public var deadline: Instant?
  public var purpose: RequestPurpose
  /// Told the next page's token as soon as it is known, maybe before the page ends, and again by another attempt; on any
  /// thread.
  public var onNext: (@Sendable (String) -> Void)?

  public init(
    prefix: ObjectKey, delimited: Bool, startAfter: ObjectKey? = nil, continuation: String? = nil,
    deadline: Instant? = nil, purpose: RequestPurpose = .content
  ) {
    self.purpose = purpose
    self.prefix = prefix
    self.delimited = delimited
    self.startAfter = startAfter
    self.continuation = continuation
    self.deadline = deadline
  }
}

/// One page: entries in key order where the server has one, each group once.
public struct ListPage: Sendable {
  public var objects: [ListedObject]
  /// Common prefixes, each with its trailing `/`.
  public var prefixes: [ObjectKey]
  /// The token of the next page; nil on the last.
  public var next: String?
  /// In place of objects, where these were asked for: in key order, of each key the newest first.
  public var versions: [ListedVersion] = []

  public init(objects: [ListedObject], prefixes: [ObjectKey], next: String?) {
    self.objects = objects
    self.prefixes = prefixes
    self.next = next
  }

  public var isInOrder: Bool { zip(objects, objects.dropFirst()).allSatisfy { $0.key < $1.key } }
}
