// `cache gc`: takes from a cache that no process owns what is of no use, and brings it under its limits.
public import MirrorPlatform
import MirrorStore

/// What was taken away.
public struct CacheGarbage: Equatable, Sendable {
  /// Files that no row knew.
  public var strayFiles = 0
  /// Copies whose key has another revision by now.
  public var superseded = 0
  /// Rows whose file is missing or of another length.
  public var lostCopies = 0
  /// Copies that had no room under the limits.
  public var evicted = 0
  /// Keys and directories that were last heard of long ago, with no copy among or below them.
  public var names = 0
  /// Absent names whose lifetime is over.
  public var absences = 0
  /// Rows of the ledger that were joined with others.
  public var ledgerRows = 0
  /// On disk, of files and of the catalogue.
  public var freedBytes: Int64 = 0

  public init() {}
}

/// What a cache may take; nil: whatever it takes.
public struct CacheLimits: Equatable, Sendable {
  /// Bytes on disk of all copies.
  public var size: Int64?
  /// Bytes of the file system that stay free.
  public var minimumFree: Int64?

  public init(size: Int64? = nil, minimumFree: Int64? = nil) {
    self.size = size
    self.minimumFree = minimumFree
  }
}

extension CacheInspector {
  /// Opens a source's cache as a mount would, and takes away what no mount could use. Pinned copies stay.
  ///
  /// - Throws: `.locked` while a process owns the cache.
  @discardableResult
  public func collectGarbage(
    _ source: CachedSource, limits: CacheLimits = CacheLimits(), clock: any Clock = SystemClock(), log: Log = .none
  ) throws(CacheError) -> CacheGarbage {
    let owner = try source.files.lock()
    defer { withExtendedLifetime(owner) {} }
    let path = source.files.catalogue
    let before = catalogueBytes(path)
    var garbage: CacheGarbage
    // Its connection is closed before the catalogue is measured.
    do {
      let opened = try OpenCatalogue.open(path, clock: clock, log: log)
      let collector = Collector(store: opened.store, source: source, root: root)
      do throws(SQLiteError) {
        garbage = try collector.collect(limits, now: clock.wall())
      } catch { throw CacheError(error, path: path) }
      garbage.absences = opened.absencesDropped
      garbage.ledgerRows = opened.ledgerRowsJoined
    }
    garbage.freedBytes += max(0, before - catalogueBytes(path))
    return garbage
  }

  private func catalogueBytes(_ path: String) -> Int64 {
    ["", "-wal"].reduce(0) { $0 + ((try? FileSystem.attributes(path + $1))?.allocated ?? 0) }
  }
}

/// One collection over an open catalogue: files go first, then their rows, so that an end on the way loses no file.
private struct Collector {
  let store: CatalogueStore
  let source: CachedSource
  let root: String

  /// A name that was not heard of for so long, and of which nothing is here, is as good as unknown.
  private static let memory = Duration.seconds(30 * 86400)

  func collect(_ limits: CacheLimits, now: WallTime) throws(SQLiteError) -> CacheGarbage {
    var garbage = CacheGarbage()
    try store.connection.execute("BEGIN IMMEDIATE")
    try sweepFiles(&garbage)
    try sweepRows(&garbage)
    try evict(limits, &garbage)
    garbage.names = try store.forgetNames(
      heardBefore: WallTime(milliseconds: now.milliseconds - Self.memory.nanosecondsClamped / 1_000_000),
      in: source.identity.prefix)
    try store.connection.execute(
      "DELETE FROM hidden WHERE seen < \(now.milliseconds - Self.memory.nanosecondsClamped / 1_000_000)")
    try store.setTotals(try store.countTotals())
    try store.setMeta(.clean, 1)
    try store.connection.execute("COMMIT")
    try shrink()
    return garbage
  }

  /// Deletes a copy's file, and its row.
  private func remove(_ id: Int64, _ garbage: inout CacheGarbage, hasRow: Bool = true) throws(SQLiteError) {
    let path = SourceDirectory.blobPath(id, under: source.files.blobs)
    let allocated = (try? FileSystem.attributes(path))?.allocated ?? 0
    if (try? FileSystem.removeFile(path)) != nil { garbage.freedBytes += allocated }
    if hasRow { try store.removeBlob(id) }
  }

  private func sweepFiles(_ garbage: inout CacheGarbage) throws(SQLiteError) {
    let blobs = source.files.blobs
    for name in (try? FileSystem.list(blobs)) ?? [] {
      for id in ((try? FileSystem.list("\(blobs)/\(name)")) ?? []).compactMap({ Int64($0) }) {
        guard SourceDirectory.blobPath(id, under: blobs) == "\(blobs)/\(name)/\(id)" else { continue }
        switch try store.rowState(id) {
        case .current: break
        case .none:
          garbage.strayFiles += 1
          try remove(id, &garbage, hasRow: false)
        case .superseded:
          garbage.superseded += 1
          try remove(id, &garbage)
        }
      }
    }
  }

  private func sweepRows(_ garbage: inout CacheGarbage) throws(SQLiteError) {
    let query = try store.connection.prepare("SELECT id, size FROM blobs")
    var lost: [Int64] = []
    while try query.step() {
      let file = try? FileSystem.attributes(SourceDirectory.blobPath(query.int(0), under: source.files.blobs))
      if file?.kind != .file || file?.size != query.int(1) { lost.append(query.int(0)) }
    }
    for id in lost { try remove(id, &garbage) }
    garbage.lostCopies = lost.count
  }

  /// The least recently used first.
  private func evict(_ limits: CacheLimits, _ garbage: inout CacheGarbage) throws(SQLiteError) {
    var charged = try store.countTotals().charged
    // What was deleted above may not be counted as free yet.
    var free = (try? FileSystem.space(root).free) ?? .max
    func fits() -> Bool { charged <= limits.size ?? .max && free >= limits.minimumFree ?? 0 }
    while !fits() {
      let candidates = try store.oldestBlobs()
      if candidates.isEmpty { return }
      for candidate in candidates where !fits() {
        let before = garbage.freedBytes
        try remove(candidate.id, &garbage)
        garbage.evicted += 1
        charged -= diskBytes(candidate.bytes)
        free += garbage.freedBytes - before
      }
    }
  }

  /// Gives the catalogue's free pages back, where they are worth writing all the others anew.
  private func shrink() throws(SQLiteError) {
    let (pages, unused) = (try store.number("PRAGMA page_count"), try store.number("PRAGMA freelist_count"))
    if unused >= 256, unused * 4 >= pages { try store.connection.execute("VACUUM") }
    try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}

extension CatalogueStore {
  fileprivate func number(_ sql: String) throws(SQLiteError) -> Int64 {
    let query = try connection.prepare(sql)
    guard try query.step() else { return 0 }
    defer { query.reset() }
    return query.int(0)
  }

  /// Forgets directories, other than the one that is mounted, that were not listed since then, if nothing below them
  /// was heard of since and no copy lies there. The number of names.
  fileprivate func forgetNames(heardBefore time: WallTime, in root: ObjectKey) throws(SQLiteError) -> Int {
    let query = try connection.prepare("SELECT key FROM directories WHERE COALESCE(listed, 0) < ?1 ORDER BY key")
    query.bind(1, time.milliseconds)
    var old: [ObjectKey] = []
    while try query.step() { old.append(ObjectKey(query.bytes(0))) }
    var names = 0
    for directory in old where directory.bytes.count > root.bytes.count {
      guard try !isOfUse(directory, since: time) else { continue }
      for table in [Query.removeObjectsBelow, .removeDirectoriesBelow] {
        let removal = try statement(table)
        bindRange(removal, directory)
        try removal.run()
        names += connection.changes
      }
    }
    return names
  }

  private func isOfUse(_ directory: ObjectKey, since time: WallTime) throws(SQLiteError) -> Bool {
    let below = "parent >= ?1 AND (?2 IS NULL OR parent < ?2)"
    let query = try connection.prepare(
      """
      SELECT EXISTS(SELECT 1 FROM blobs WHERE \(below)) OR EXISTS(SELECT 1 FROM objects WHERE \(below) AND validated >= ?3)
      OR EXISTS(SELECT 1 FROM directories WHERE key >= ?1 AND (?2 IS NULL OR key < ?2) AND listed >= ?3)
      """)
    bindRange(query, directory)
    query.bind(3, time.milliseconds)
    guard try query.step() else { return true }
    defer { query.reset() }
    return query.int(0) != 0
  }
}
