// What the origin says of an object: the revision and its attributes.
public import MirrorPlatform

/// One object at one version; two equal revisions have equal bytes.
public struct ObjectRevision: Hashable, Sendable {
  /// Nil where a server gives none: then time and size must do.
  public let etag: EntityTag?
  public let size: Int64
  /// Last-Modified, whole seconds since 1970; nil where a server gives none.
  public let modified: Int64?
  /// The id of its version, where the server gave one: by it these bytes can be had when they are no longer current.
  public var version: String?

  public init(etag: EntityTag?, size: Int64, modified: Int64?, version: String? = nil) {
    self.etag = etag
    self.size = size
    self.modified = modified
    self.version = version
  }

  /// Something tells it from another of the same size.
  public var isIdentified: Bool { etag != nil || modified != nil }

  /// Whether both name the same bytes: the version, or ETag and size, or time and size where a tag is missing.
  public func sameBytes(as other: ObjectRevision) -> Bool {
    guard size == other.size else { return false }
    // What was written while no versions were kept has the id `null`, and may be overwritten.
    if let version, version == other.version, version != "null" { return true }
    if let etag, let tag = other.etag { return etag == tag }
    return modified != nil && modified == other.modified
  }
}

/// The fields of an answer that tell how long it may be used (RFC 9111 §5), as they were received.
public struct CachingFields: Hashable, Sendable {
  /// All lines of it, joined by commas.
  public var cacheControl: String?
  public var expires: String?
  public var age: String?
  public var date: String?

  public init(cacheControl: String? = nil, expires: String? = nil, age: String? = nil, date: String? = nil) {
    self.cacheControl = cacheControl
    self.expires = expires
    self.age = age
    self.date = date
  }
}

/// The attributes that a GET or HEAD answers.
public struct ObjectMetadata: Hashable, Sendable {
  public var revision: ObjectRevision
  public var storageClass: String?
  public var contentType: String?
  public var caching: CachingFields
  /// What the tool that wrote it says of the file that it was; nil: nothing.
  public var posix: PosixMetadata?
  /// Base64 values by algorithm (`crc32`, `crc32c`, `crc64nvme`, `sha1`, `sha256`) of the *whole* object.
  public var checksums: [String: String]
  /// The ETag is the MD5 of the bytes (S3 says so: no SSE-C, no KMS, no multipart).
  public var etagIsMD5: Bool

  public init(
    revision: ObjectRevision, storageClass: String? = nil, contentType: String? = nil,
    caching: CachingFields = CachingFields(), checksums: [String: String] = [:], etagIsMD5: Bool = false
  ) {
    self.revision = revision
    self.storageClass = storageClass
    self.contentType = contentType
    self.caching = caching
    self.checksums = checksums
    self.etagIsMD5 = etagIsMD5
  }
}

/// One version of an object, or the mark that it was deleted, in a listing of versions.
public struct ListedVersion: Hashable, Sendable {
  public let object: ListedObject
  /// When it became current, as far as the server says.
  public let time: WallTime
  public let isDeleteMarker: Bool

  public init(_ object: ListedObject, time: WallTime, isDeleteMarker: Bool) {
    self.object = object
    self.time = time
    self.isDeleteMarker = isDeleteMarker
  }
}

/// One entry of a listing page.
public struct ListedObject: Hashable, Sendable {
  public let key: ObjectKey
  public let revision: ObjectRevision
  /// Nil for STANDARD or where the server does not say.
  public let storageClass: String?

  public init(key: ObjectKey, revision: ObjectRevision, storageClass: String? = nil) {
    self.key = key
    self.revision = revision
    self.storageClass = storageClass
  }
}
