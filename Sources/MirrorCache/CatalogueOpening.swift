// How a catalogue is opened: made, trusted, distrusted after an unclean end, set aside when damaged, refused when newer.
import MirrorPlatform

/// An open catalogue and what its last end tells.
struct OpenCatalogue {
  let store: CatalogueStore
  /// The process before did not close it.
  let wasUnclean: Bool
  /// Nothing of the bucket was in it.
  let wasEmpty: Bool
  let era: Int64
  /// Since the last unclean end no sweep has gone over all rows.
  let isUnswept: Bool
  let totals: Budget.Totals
  /// Blobs made from now on have this id or a higher one; files in the way of them are nobody's.
  let firstID: Int64
  /// The latest use of any blob.
  let lastUsed: Int64
  /// Absent names that were over.
  let absencesDropped: Int
  let ledgerRowsJoined: Int
}

extension OpenCatalogue {
  /// Ids that one life of a process may give before the clock alone keeps them apart.
  private static let idsAtOnce: Int64 = 1 << 24

  /// Opens the catalogue, or begins a new one where the old is damaged.
  static func open(_ path: String, clock: any Clock, log: Log) throws(CacheError) -> OpenCatalogue {
    do throws(SQLiteError) {
      return try attempt(path, clock: clock)
    } catch {
      guard error.isDamage || error.primary == 1 || !isFile(path) else { throw CacheError(error, path: path) }
      if error.message == newer {
        throw CacheError(
          .newerVersion, path: path, message: "a newer release wrote it; use that one, or another directory")
      }
      guard setAside(path, because: "\(error)", clock: clock, log: log) else { throw CacheError(error, path: path) }
    }
    do throws(SQLiteError) { return try attempt(path, clock: clock) } catch { throw CacheError(error, path: path) }
  }

  /// What can't be opened because it is something else is damaged; a file may only be short of descriptors.
  private static func isFile(_ path: String) -> Bool {
    (try? FileSystem.attributes(path)).map { $0.kind == .file } ?? true
  }

  private static let newer = "newer version"

  private static func attempt(_ path: String, clock: any Clock) throws(SQLiteError) -> OpenCatalogue {
    // Made here, since SQLite would make it as readable as the umask allows; its other files take after it.
    _ = try? File.openOrCreate(path, mode: 0o600)
    let connection = try Connection(path, .readWrite)
    try connection.execute(Schema.settings)
    let store = CatalogueStore(connection)
    if try isEmpty(connection) {
      try connection.execute("BEGIN")
      try connection.execute(Schema.tables)
      try store.setMeta(.version, Schema.version)
      try store.setMeta(.clean, 1)
      try store.setMeta(.era, clock.wall().milliseconds)
      try connection.execute("COMMIT")
    }
    // A catalogue without a version is none: then other numbers in it mean nothing either.
    guard let version = try store.meta(.version) else { throw SQLiteError(code: 26, message: "no version in it") }
    guard version <= Schema.version else { throw SQLiteError(code: 1, message: newer) }
    if version < Schema.version {
      try connection.execute("BEGIN")
      try connection.execute(Schema.upgrade(from: version))
      try store.setMeta(.version, Schema.version)
      try connection.execute("COMMIT")
    }
    try connection.execute(Schema.hidden)
    return try begin(store, clock: clock)
  }

  /// It has no tables yet.
  static func isEmpty(_ connection: Connection) throws(SQLiteError) -> Bool {
    let query = try connection.prepare("SELECT COUNT(*) FROM sqlite_schema")
    guard try query.step() else { return true }
    defer { query.reset() }
    return query.int(0) == 0
  }

  /// Takes the clean mark away: from here on only `close` sets it again.
  private static func begin(_ store: CatalogueStore, clock: any Clock) throws(SQLiteError) -> OpenCatalogue {
    for query in Query.allCases { _ = try store.statement(query) }
    let wasUnclean = try store.meta(.clean) != 1
    let (lastEra, next) = (try store.meta(.era) ?? 0, try store.meta(.next) ?? 1)
    let highestID = try number(store, "SELECT MAX(id) FROM blobs")
    let lastUsed = try number(store, "SELECT MAX(used) FROM blobs")
    guard max(lastEra, next, highestID, lastUsed) < 1 << 60 else {
      throw SQLiteError(code: 11, message: "numbers in it that nobody can have written")
    }
    let era = lastEra + (wasUnclean ? 1 : 0)
    var totals = Budget.Totals()
    if wasUnclean {
      totals = try store.countTotals()
    } else {
      totals.objects = Int(try store.meta(.objects) ?? 0)
      totals.bytes = try store.meta(.bytes) ?? 0
      totals.charged = try store.meta(.charged) ?? 0
    }
    let firstID = max(highestID + 1, next, clock.wall().milliseconds << 8)
    try store.connection.execute("BEGIN IMMEDIATE")
    try store.setMeta(.clean, 0)
    try store.setMeta(.era, era)
    try store.setMeta(.next, firstID + idsAtOnce)
    try store.connection.execute(
      Schema.foldLedger(before: clock.wall().seconds / 86400 - Schema.daysByPrefix))
    let ledgerRowsJoined = store.connection.changes
    let absencesDropped = try store.dropAbsences(now: clock.wall())
    try store.connection.execute("COMMIT")
    let wasEmpty = try number(store, Schema.knowsAnything) == 0
    let isUnswept = try store.meta(.swept) ?? 0 < era
    return OpenCatalogue(
      store: store, wasUnclean: wasUnclean, wasEmpty: wasEmpty, era: era, isUnswept: isUnswept, totals: totals,
      firstID: firstID,
      lastUsed: lastUsed,
      absencesDropped: absencesDropped, ledgerRowsJoined: ledgerRowsJoined)
  }

  private static func number(_ store: CatalogueStore, _ sql: String) throws(SQLiteError) -> Int64 {
    let query = try store.connection.prepare(sql)
    guard try query.step() else { return 0 }
    defer { query.reset() }
    return query.int(0)
  }

  /// Renames a catalogue that can't be read, so that a new one can be made in its place; the one before it is let go.
  static func setAside(_ path: String, because reason: String, clock: any Clock, log: Log) -> Bool {
    let aside = path + ".damaged"
    do throws(Errno) {
      if let old = try? FileSystem.attributes(aside) {
        if old.kind == .directory { try FileSystem.removeTree(aside) } else { try FileSystem.removeFile(aside) }
      }
      try FileSystem.rename(path, to: aside)
      for suffix in ["-wal", "-shm"] { try FileSystem.removeFile(path + suffix) }
    } catch {
      log.limited(.error, key: "set aside", "\(path): damaged (\(reason)) and can't be set aside: \(error)")
      return false
    }
    log.warning("\(path): damaged (\(reason)); set aside as \(aside), a new one begins")
    return true
  }
}
