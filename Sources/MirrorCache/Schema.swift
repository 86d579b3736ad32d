// The tables of a catalogue, their version, and what is run on them.
import MirrorStore

enum Schema {
  static let version: Int64 = 5

  /// For each connection that writes. The page cache is small: what is hot lies in memory above.
  static let settings = """
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=NORMAL;
    PRAGMA cache_size=-2048;
    PRAGMA temp_store=MEMORY;
    PRAGMA journal_size_limit=4194304;
    """

  /// ETags that have the form of an MD5 are blobs of 16 bytes, others are text as received. Times of the origin are
  /// seconds, others milliseconds, `written` (the blob file's time when the row was made) nanoseconds. `said` is what an
  /// answer for the object itself said of its freshness, empty for nothing, NULL where no answer was kept; `posix` the
  /// same for what it said of owner, mode and time.
  static let tables = """
    CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE objects(
      parent BLOB NOT NULL, name BLOB NOT NULL, etag, size INTEGER NOT NULL, modified INTEGER, storage_class TEXT,
      validated INTEGER NOT NULL, said TEXT, version_id TEXT, posix TEXT, PRIMARY KEY(parent, name)) WITHOUT ROWID;
    CREATE TABLE directories(key BLOB PRIMARY KEY, parent BLOB, listed INTEGER) WITHOUT ROWID;
    CREATE INDEX directories_parent ON directories(parent);
    CREATE TABLE blobs(
      id INTEGER PRIMARY KEY, parent BLOB NOT NULL, name BLOB NOT NULL, etag, size INTEGER NOT NULL, modified INTEGER,
      content_type TEXT, storage_class TEXT, version_id TEXT, bytes INTEGER NOT NULL, complete INTEGER NOT NULL,
      used INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, era INTEGER NOT NULL, written INTEGER NOT NULL,
      blocks BLOB, digests BLOB);
    CREATE INDEX blobs_key ON blobs(parent, name);
    CREATE INDEX blobs_used ON blobs(used) WHERE pinned = 0;
    CREATE TABLE pins(prefix BLOB PRIMARY KEY) WITHOUT ROWID;
    \(ledger)
    \(absences)
    """

  /// Keys that can't be files, as they were last seen. It is made where it is missing: older releases do without.
  static let hidden =
    "CREATE TABLE IF NOT EXISTS hidden(key BLOB PRIMARY KEY, reason TEXT NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID"

  /// Names that do not exist, and until when that is believed.
  private static let absences = """
    CREATE TABLE absences(
      parent BLOB NOT NULL, name BLOB NOT NULL, until INTEGER NOT NULL, PRIMARY KEY(parent, name)) WITHOUT ROWID;
    CREATE INDEX absences_until ON absences(until);
    """

  /// One row of requests that cost the same, by UTC day and prefix, and the prices that differ from the usual.
  private static let ledger = """
    CREATE TABLE ledger(
      day INTEGER NOT NULL, prefix BLOB NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL, class TEXT NOT NULL,
      requests INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(day, prefix, kind, outcome, class)) WITHOUT ROWID;
    CREATE TABLE prices(name TEXT PRIMARY KEY, usd TEXT NOT NULL) WITHOUT ROWID;
    """

  /// From version 1, whose ledger knew sums by day, 2, which did not know what objects say of their freshness, 3, which
  /// did not remember absent names, or 4, which knew neither versions nor owners of objects.
  static func upgrade(from version: Int64) -> String {
    (version < 2 ? ledgerUpgrade : "") + (version < 3 ? "ALTER TABLE objects ADD COLUMN said TEXT;" : "")
      + (version < 4 ? absences : "")
      + "ALTER TABLE objects ADD COLUMN version_id TEXT; ALTER TABLE objects ADD COLUMN posix TEXT;"
  }

  private static let ledgerUpgrade = """
    ALTER TABLE ledger RENAME TO ledger_1;
    \(ledger)
    INSERT INTO ledger SELECT * FROM (\(firstLedger(table: "ledger_1")));
    DROP TABLE ledger_1;
    """

  /// The rows of version 1 as those of this one. Which of the requests failed it did not tell by kind.
  static func firstLedger(table: String) -> String {
    let parts = [
      ("get", "success", "gets - not_modified", "bytes"), ("get", "notModified", "not_modified", "0"),
      ("head", "success", "heads", "0"), ("list", "success", "lists", "0"), ("other", "success", "others", "0"),
    ]
    return parts.map {
      "SELECT day, x'' AS prefix, '\($0.0)' AS kind, '\($0.1)' AS outcome, 'STANDARD' AS class, "
        + "\($0.2) AS requests, \($0.3) AS bytes FROM \(table) WHERE \($0.2) > 0"
    }.joined(separator: " UNION ALL ")
  }

  /// Days that the ledger keeps by prefix.
  static let daysByPrefix: Int64 = 100

  /// Joins what was asked before a day under one prefix: a year of many prefixes is no use to anyone.
  static func foldLedger(before day: Int64) -> String {
    let rest = "CAST('\(LedgerEntry.rest)' AS BLOB)"
    return """
      INSERT INTO ledger SELECT day, \(rest), kind, outcome, class, SUM(requests), SUM(bytes) FROM ledger
        WHERE day < \(day) AND prefix <> \(rest) GROUP BY day, kind, outcome, class
        ON CONFLICT(day, prefix, kind, outcome, class) DO UPDATE SET
        requests = requests + excluded.requests, bytes = bytes + excluded.bytes;
      DELETE FROM ledger WHERE day < \(day) AND prefix <> \(rest);
      """
  }

  /// Whether the key of a parent and a name begins with a pinned prefix.
  static func isPinned(_ parent: String, _ name: String) -> String {
    "EXISTS(SELECT 1 FROM pins WHERE substr(CAST(\(parent) || \(name) AS BLOB), 1, length(prefix)) = prefix)"
  }

  static let knowsAnything = """
    SELECT EXISTS(SELECT 1 FROM objects) OR EXISTS(SELECT 1 FROM directories) OR EXISTS(SELECT 1 FROM absences)
      OR EXISTS(SELECT 1 FROM blobs)
    """
  static let totals = "SELECT COUNT(*), TOTAL(bytes), TOTAL((bytes + 4095) / 4096 * 4096) FROM blobs"
}

/// The names in `meta`, beside what the server lacks (CatalogueLacks).
enum MetaName: String {
  case version
  /// 1 after a clean end; `objects`, `bytes`, `charged` hold then.
  case clean
  /// 1 once an object said anything of owner, mode or time.
  case described
  /// Grows with each unclean end: blobs of an older era must be checked.
  case era
  /// The era whose sweep has gone over all rows: what is missing since then was taken by somebody else.
  case swept
  case objects, bytes, charged
  /// The lowest blob id that was never given.
  case next
  /// Tells which seed's names were learned.
  case seed
}

/// The statements of the catalogue's thread, each prepared once.
enum Query: Int, CaseIterable {
  case getMeta, putMeta
  case namesIn, staleObjects, staleDirectories
  case findObject, putObject, saidOfObject, describeObject, validateObject, removeObject, removeObjectsBelow, objectsIn
  case findDirectory, putDirectory, removeDirectoriesBelow, directoriesIn
  case blobsOf, blobsIn, blobIDsBelow, findBlob, putBlob, useBlob, removeBlob, oldestBlobs, addPin, removePins,
    pinBlobs, readPins
  case findAbsence, anyAbsence, putAbsence, removeAbsence, absencesIn, removeAbsencesBelow, removeAbsencesOver,
    removeExcess
  case putHidden
  case addLedger, readLedger, removePrices, addPrice, readPrices

  var sql: String {
    switch self {
    case .getMeta: "SELECT value FROM meta WHERE name = ?1"
    case .putMeta: "INSERT OR REPLACE INTO meta VALUES(?1, ?2)"
    case .findObject:
      "SELECT etag, size, modified, storage_class, validated, said, version_id, posix FROM objects WHERE parent = ?1 AND name = ?2"
    case .namesIn: "SELECT name FROM objects WHERE parent = ?1"
    case .staleObjects:
      """
      UPDATE objects SET validated = 0
      WHERE parent = ?3 AND name = ?4 OR parent >= ?1 AND (?2 IS NULL OR parent < ?2)
      """
    case .staleDirectories: "UPDATE directories SET listed = 0 WHERE key >= ?1 AND (?2 IS NULL OR key < ?2)"
    case .putObject:
      """
      INSERT INTO objects VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?9, NULL) ON CONFLICT(parent, name) DO UPDATE SET
      etag = ?3, size = ?4, modified = ?5, storage_class = ?6, validated = ?7, said = CASE ?8 WHEN 1 THEN said END,
      version_id = CASE ?8 WHEN 1 THEN COALESCE(?9, version_id) ELSE ?9 END,
      posix = CASE WHEN ?8 = 1 AND modified IS ?5 THEN posix END
      """
    case .saidOfObject: "UPDATE objects SET said = ?3 WHERE parent = ?1 AND name = ?2"
    case .describeObject: "UPDATE objects SET posix = ?3 WHERE parent = ?1 AND name = ?2"
    case .validateObject: "UPDATE objects SET validated = ?3 WHERE parent = ?1 AND name = ?2"
    case .removeObject: "DELETE FROM objects WHERE parent = ?1 AND name = ?2"
    case .removeObjectsBelow: "DELETE FROM objects WHERE parent >= ?1 AND (?2 IS NULL OR parent < ?2)"
    case .objectsIn:
      "SELECT etag, size, modified, storage_class, validated, name, said, version_id, posix FROM objects WHERE parent = ?1 ORDER BY name"
    case .findDirectory: "SELECT listed FROM directories WHERE key = ?1"
    case .putDirectory:
      "INSERT INTO directories VALUES(?1, ?2, ?3) ON CONFLICT(key) DO UPDATE SET listed = COALESCE(?3, listed)"
    case .removeDirectoriesBelow: "DELETE FROM directories WHERE key >= ?1 AND (?2 IS NULL OR key < ?2)"
    case .directoriesIn: "SELECT key FROM directories WHERE parent = ?1 ORDER BY key"
    case .blobsOf: "SELECT \(BlobRow.columns) FROM blobs WHERE parent = ?1 AND name = ?2 ORDER BY id DESC"
    case .blobsIn: "SELECT name, etag, size, modified FROM blobs WHERE parent = ?1"
    case .blobIDsBelow: "SELECT id, bytes FROM blobs WHERE parent >= ?1 AND (?2 IS NULL OR parent < ?2)"
    case .findBlob:
      """
      SELECT b.bytes, b.etag, b.size, b.modified, o.etag, o.size, o.modified, o.size IS NOT NULL
      FROM blobs b LEFT JOIN objects o ON o.parent = b.parent AND o.name = b.name WHERE b.id = ?1
      """
    case .putBlob:
      """
      INSERT INTO blobs(\(BlobRow.columns), pinned)
      VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \(Schema.isPinned("?2", "?3")))
      ON CONFLICT(id) DO UPDATE SET bytes = ?10, complete = ?11, used = ?12, era = ?13, written = ?14, blocks = ?15,
      digests = COALESCE(?16, digests)
      """
    case .useBlob: "UPDATE blobs SET used = ?2 WHERE id = ?1"
    case .removeBlob: "DELETE FROM blobs WHERE id = ?1"
    case .oldestBlobs: "SELECT id, bytes, used FROM blobs WHERE pinned = 0 ORDER BY used LIMIT 64"
    case .addPin: "INSERT OR IGNORE INTO pins VALUES(?1)"
    case .removePins: "DELETE FROM pins WHERE prefix >= ?1 AND (?2 IS NULL OR prefix < ?2)"
    case .readPins: "SELECT prefix FROM pins ORDER BY prefix"
    case .pinBlobs:
      """
      UPDATE blobs SET pinned = \(Schema.isPinned("parent", "name"))
      WHERE CAST(parent || name AS BLOB) >= ?1 AND (?2 IS NULL OR CAST(parent || name AS BLOB) < ?2)
      """
    case .findAbsence: "SELECT until FROM absences WHERE parent = ?1 AND name = ?2"
    case .anyAbsence: "SELECT 1 FROM absences LIMIT 1"
    case .putAbsence: "INSERT OR REPLACE INTO absences VALUES(?1, ?2, ?3)"
    case .removeAbsence: "DELETE FROM absences WHERE parent = ?1 AND name = ?2"
    case .absencesIn: "SELECT name, until FROM absences WHERE parent = ?1"
    case .removeAbsencesBelow:
      """
      DELETE FROM absences WHERE parent = ?3 AND name = ?4 OR parent >= ?1 AND (?2 IS NULL OR parent < ?2)
      """
    case .removeAbsencesOver: "DELETE FROM absences WHERE until <= ?1"
    case .removeExcess:
      """
      DELETE FROM absences WHERE (parent, name) IN
      (SELECT parent, name FROM absences ORDER BY until DESC LIMIT -1 OFFSET ?1)
      """
    case .putHidden: "INSERT OR REPLACE INTO hidden VALUES(?1, ?2, ?3)"
    case .addLedger:
      """
      INSERT INTO ledger VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(day, prefix, kind, outcome, class) DO UPDATE SET
      requests = requests + ?6, bytes = bytes + ?7
      """
    case .readLedger: "SELECT \(Self.ledgerColumns) FROM ledger WHERE day >= ?1 AND day <= ?2"
    case .removePrices: "DELETE FROM prices"
    case .addPrice: "INSERT INTO prices VALUES(?1, ?2)"
    case .readPrices: "SELECT name, usd FROM prices"
    }
  }

  static let ledgerColumns = "day, prefix, kind, outcome, class, requests, bytes"
}
