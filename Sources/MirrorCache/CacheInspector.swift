// A look into caches from outside: what is under a root, whether or not a process owns it. Blocks; for commands.
public import MirrorPlatform
public import MirrorStore

/// A cached source that was found on disk.
public struct CachedSource: Hashable, Sendable {
  public let identity: SourceIdentity
  /// `<root>/<name>`
  public let directory: String
  /// The process that owns it now (0: one that can't be named); nil when none does.
  public let owner: Int32?

  var files: SourceDirectory { SourceDirectory(path: directory) }
}

/// A copy, and what is known of its key.
public struct CachedObject: Hashable, Sendable {
  public let key: ObjectKey
  public let revision: ObjectRevision
  public let cachedBytes: Int64
  public let isComplete: Bool
  public let isPinned: Bool
  /// When the origin last vouched for it; nil when the key is not known, or has another revision by now.
  public let validated: WallTime?
  /// Its place in the order of use, about milliseconds since 1970.
  public let used: Int64

  public var size: Int64 { revision.size }
  public var etag: EntityTag? { revision.etag }
  public var lastModified: Int64? { revision.modified }
}

/// What the copies below one name take.
public struct CachedTotal: Hashable, Sendable {
  /// The key of an object, or a directory with its trailing `/`.
  public let key: ObjectKey
  public var objects = 0
  /// Of the objects at the origin.
  public var size: Int64 = 0
  public var cachedBytes: Int64 = 0
  /// What the copies take on disk.
  public var diskBytes: Int64 = 0

  public init(key: ObjectKey) { self.key = key }
}

/// Reads the caches under a root. Each call sees what is on disk at that moment; a running owner is up to two seconds
/// ahead.
public struct CacheInspector: Sendable {
  public let root: String
  public init(root: String) { self.root = root }

  public enum Order: Sendable {
    case key, size, leastRecentlyUsed
    /// What the origin vouched for longest ago comes first.
    case validated
  }

  /// The sources under the root, by bucket and prefix; none where there is no root.
  public func sources() throws(CacheError) -> [CachedSource] {
    let names: [String]
    do throws(Errno) { names = try FileSystem.list(root) } catch {
      if error == .noEntry { return [] }
      throw CacheError(error, path: root, doing: "list it")
    }
    let found = names.compactMap { name -> CachedSource? in
      let files = SourceDirectory(path: root + "/" + name)
      guard let identity = SourceIdentity(path: files.sourceFile) else { return nil }
      return CachedSource(identity: identity, directory: files.path, owner: files.owner)
    }
    return found.sorted {
      ($0.identity.bucket, $0.identity.prefix, $0.directory) < ($1.identity.bucket, $1.identity.prefix, $1.directory)
    }
  }

  /// The copies of keys that begin with `prefix`.
  public func objects(
    of source: CachedSource, under prefix: ObjectKey = ObjectKey([]), by order: Order = .key
  ) throws(CacheError) -> [CachedObject] {
    var objects: [CachedObject] = []
    try forEachObject(of: source, under: prefix, by: order) { objects.append($0) }
    return objects
  }

  /// The same, one by one: for caches whose list should not lie in memory.
  public func forEachObject(
    of source: CachedSource, under prefix: ObjectKey = ObjectKey([]), by order: Order = .key,
    _ body: (CachedObject) -> Void
  ) throws(CacheError) {
    try reading(source) { (store) throws(SQLiteError) in
      let query = try store.connection.prepare(Self.listing(order))
      store.bindRange(query, prefix)
      while try query.step() { body(query.cachedObject()) }
    }
  }

  /// The copies under `prefix`, added up by the next part of their keys.
  public func totals(
    of source: CachedSource, under prefix: ObjectKey = ObjectKey([])
  ) throws(CacheError) -> [CachedTotal] {
    var totals: [ObjectKey: CachedTotal] = [:]
    try forEachObject(of: source, under: prefix) { object in
      let rest = object.key.bytes.dropFirst(prefix.bytes.count)
      let end = rest.firstIndex(of: 0x2F).map { $0 + 1 } ?? object.key.bytes.count
      let name = ObjectKey(Array(object.key.bytes[..<end]))
      totals[name, default: CachedTotal(key: name)].add(object)
    }
    return totals.values.sorted { $0.key < $1.key }
  }

  /// All copies under `prefix`, added up.
  public func total(of source: CachedSource, under prefix: ObjectKey = ObjectKey([])) throws(CacheError) -> CachedTotal
  {
    var total = CachedTotal(key: prefix)
    try forEachObject(of: source, under: prefix) { total.add($0) }
    return total
  }

  /// What was asked of the origin on these UTC days (since 1970).
  public func ledger(
    of source: CachedSource, days: ClosedRange<Int64> = .allDays
  ) throws(CacheError) -> LedgerEntries {
    try reading(source) { (store) throws(SQLiteError) in try store.ledger(days) } ?? [:]
  }

  /// The pinned prefixes, in order.
  public func pins(of source: CachedSource) throws(CacheError) -> [ObjectKey] {
    try reading(source) { (store) throws(SQLiteError) in try store.pins() } ?? []
  }

  /// The prices of its last mount.
  public func prices(of source: CachedSource) throws(CacheError) -> Prices {
    try reading(source) { (store) throws(SQLiteError) in try store.prices() } ?? Prices()
  }

  private static func listing(_ order: Order) -> String {
    let by =
      switch order {
      case .key: "k"
      case .size: "b.size DESC, k"
      case .leastRecentlyUsed: "b.used"
      case .validated: "o.validated, k"
      }
    return """
      SELECT CAST(b.parent || b.name AS BLOB) AS k, b.etag, b.size, b.modified, b.bytes, b.complete, b.pinned, b.used,
      o.validated, o.etag, o.size, o.modified
      FROM blobs b LEFT JOIN objects o ON o.parent = b.parent AND o.name = b.name
      WHERE k >= ?1 AND (?2 IS NULL OR k < ?2) ORDER BY \(by)
      """
  }
}

extension CacheInspector {
  /// Runs a question on a source's catalogue; nil when there is none yet, or one whose maker died before its first word.
  func reading<Answer>(
    _ source: CachedSource, _ question: (CatalogueStore) throws(SQLiteError) -> Answer
  ) throws(CacheError) -> Answer? {
    let path = source.files.catalogue
    guard (try? FileSystem.attributes(path)) != nil else { return nil }
    do throws(SQLiteError) {
      guard let store = try Self.open(path) else { return nil }
      return try question(store)
    } catch { throw CacheError(error, path: path) }
  }

  private static func open(_ path: String) throws(SQLiteError) -> CatalogueStore? {
    do throws(SQLiteError) { return try open(path, .readOnly) } catch {
      // On a read-only file system SQLite can't make the files that readers share.
      guard error.isReadOnlyDirectory else { throw error }
      return try open(path, .immutable)
    }
  }

  private static func open(_ path: String, _ mode: Connection.Mode) throws(SQLiteError) -> CatalogueStore? {
    let connection = try Connection(path, mode)
    guard try !OpenCatalogue.isEmpty(connection) else { return nil }
    let store = CatalogueStore(connection)
    guard let version = try store.meta(.version), version <= Schema.version else {
      throw SQLiteError(code: 1, message: "a newer release wrote it")
    }
    return store
  }
}

extension CachedTotal {
  mutating func add(_ object: CachedObject) {
    objects += 1
    size = size.addingSaturating(object.size)
    cachedBytes += object.cachedBytes
    diskBytes += MirrorCache.diskBytes(object.cachedBytes)
  }
}

extension Statement {
  fileprivate func cachedObject() -> CachedObject {
    let revision = revision(1)
    let isCurrent = !isNull(8) && self.revision(9).sameBytes(as: revision)
    return CachedObject(
      key: ObjectKey(bytes(0)), revision: revision, cachedBytes: int(4), isComplete: int(5) != 0, isPinned: int(6) != 0,
      validated: isCurrent ? WallTime(milliseconds: int(8)) : nil, used: int(7))
  }
}
