// What a cache is for, and how much it may hold.
public import MirrorStore

/// One source and the space its copies may take.
public struct CacheConfiguration: Sendable {
  /// The directory that holds a directory for each source.
  public var root: String
  public var endpoint: String
  public var bucket: String
  /// The part of the bucket that is mirrored; empty for all of it.
  public var prefix: ObjectKey
  /// The time that a view of the past shows (RFC 3339); nil: the present.
  public var view: String?
  /// Bytes on disk that all copies together may take.
  public var limit: Int64
  /// Bytes of the file system that stay free for others.
  public var minimumFree: Int64
  /// What came with the machine.
  public var seed: Seed?

  public init(
    root: String, endpoint: String, bucket: String, prefix: ObjectKey, view: String? = nil, limit: Int64,
    minimumFree: Int64 = 0
  ) {
    self.view = view
    self.root = root
    self.endpoint = endpoint
    self.bucket = bucket
    self.prefix = prefix
    self.limit = limit
    self.minimumFree = minimumFree
  }
}

/// What a cache holds at this moment.
public struct CacheUsage: Hashable, Sendable {
  /// Content, bytes.
  public let bytes: Int64
  /// What the content takes on disk, bytes: the figure that is held against `limit`.
  public let diskBytes: Int64
  /// Promised by `reserve` and not yet written, bytes.
  public let reserved: Int64
  public let objects: Int
  public let limit: Int64
  /// Objects that may not be evicted because the kernel knows them.
  public let retained: Int
  /// What the retained ones take on disk, bytes.
  public let retainedBytes: Int64
}
