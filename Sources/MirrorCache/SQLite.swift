// One connection to a database and its statements, in Swift words; not for sharing between threads.
import CSQLite

/// A failed call of SQLite (https://sqlite.org/rescode.html).
struct SQLiteError: Error, CustomStringConvertible {
  /// The extended result code.
  let code: Int32
  let message: String

  var primary: Int32 { code & 0xFF }
  /// The file is not a database, or contradicts itself.
  var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT }
  var isFull: Bool { primary == SQLITE_FULL }
  /// A reader needs files beside the database, and can't make them.
  var isReadOnlyDirectory: Bool { primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY }
  /// The statement or its values are wrong: trying again can't help.
  var isOurs: Bool {
    [SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_TOOBIG].contains(primary)
  }
  var description: String { "\(message) (SQLite \(code))" }
}

/// An open database; closed when it and its statements are released.
@safe final class Connection {
  enum Mode { case readWrite, readOnly, immutable }
  fileprivate let handle: OpaquePointer

  /// Without mutexes: the owner uses it from one thread at a time.
  init(_ path: String, _ mode: Mode) throws(SQLiteError) {
    var opened: OpaquePointer?
    var flags = SQLITE_OPEN_NOMUTEX
    var name = path
    switch mode {
    case .readWrite: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    case .readOnly: flags |= SQLITE_OPEN_READONLY
    case .immutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      name = "file:\(uriPath(path))?immutable=1"
    }
    let code = unsafe sqlite3_open_v2(name, &opened, flags, nil)
    guard let connection = unsafe opened else { throw SQLiteError(code: code, message: "out of memory") }
    guard code == SQLITE_OK else {
      let message = unsafe String(cString: sqlite3_errmsg(connection))
      let extended = unsafe sqlite3_extended_errcode(connection)
      _ = unsafe sqlite3_close_v2(connection)
      throw SQLiteError(code: extended, message: message)
    }
    unsafe handle = connection
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
    _ = unsafe sqlite3_busy_timeout(handle, 2000)
  }

  deinit { _ = unsafe sqlite3_close_v2(handle) }

  /// Rows that the last statement changed.
  var changes: Int { Int(unsafe sqlite3_changes64(handle)) }

  /// Runs statements that have no values and no rows of interest.
  func execute(_ sql: String) throws(SQLiteError) {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: self) }

  /// Whether BEGIN holds; SQLite ends a transaction by itself after some errors.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  fileprivate func error(_ code: Int32) -> SQLiteError {
    SQLiteError(code: code, message: unsafe String(cString: sqlite3_errmsg(handle)))
  }
}

/// A path as it must be spelled in a `file:` URI.
private func uriPath(_ path: String) -> String {
  path.unicodeScalars.map { scalar in
    switch scalar {
    case "%": "%25"
    case "?": "%3f"
    case "#": "%23"
    default: String(scalar)
    }
  }.joined()
}

/// A prepared statement; values are bound from 1, columns are read from 0.
@safe final class Statement {
  private let handle: OpaquePointer
  private let connection: Connection

  fileprivate init(_ sql: String, on connection: Connection) throws(SQLiteError) {
    var prepared: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let statement = unsafe prepared else { throw connection.error(code) }
    unsafe handle = statement
    self.connection = connection
  }

  deinit { _ = unsafe sqlite3_finalize(handle) }

  func bind(_ index: Int32, _ value: Int64?) {
    if let value {
      _ = unsafe sqlite3_bind_int64(handle, index, value)
    } else {
      _ = unsafe sqlite3_bind_null(handle, index)
    }
  }

  func bind(_ index: Int32, _ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { buffer in
      _ = unsafe csqlite_bind_blob(handle, index, buffer.baseAddress, Int32(clamping: buffer.count))
    }
  }

  func bind(_ index: Int32, _ bytes: [UInt8]?) {
    if let bytes { bind(index, bytes[...]) } else { bind(index, nil as Int64?) }
  }

  /// Binds text; the bytes need not be UTF-8.
  func bind(_ index: Int32, text bytes: [UInt8]?) {
    guard let bytes else { return bind(index, nil as Int64?) }
    unsafe bytes.withUnsafeBytes { buffer in
      _ = unsafe csqlite_bind_text(handle, index, buffer.baseAddress, Int32(clamping: buffer.count))
    }
  }

  func bind(_ index: Int32, text: String?) { bind(index, text: text.map { Array($0.utf8) }) }

  /// Whether there is a row to read; after the last row, and after an error, the statement is ready to run again.
  func step() throws(SQLiteError) -> Bool {
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    let failure = code == SQLITE_DONE ? nil : connection.error(code)
    reset()
    if let failure { throw failure }
    return false
  }

  /// Runs a statement that answers nothing.
  func run() throws(SQLiteError) { while try step() {} }

  /// Ends a run before its last row.
  func reset() { _ = unsafe sqlite3_reset(handle) }

  func int(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }
  func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }
  func isText(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT }
  func optionalInt(_ column: Int32) -> Int64? { isNull(column) ? nil : int(column) }

  /// What counts something on a disk: of a damaged row nothing that sums would end at.
  func count(_ column: Int32) -> Int64 { min(max(0, int(column)), 1 << 50) }

  /// The bytes of a blob or text; empty for NULL.
  func bytes(_ column: Int32) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
  func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
  func text(_ column: Int32) -> String? {
    isNull(column) ? nil : String(decoding: bytes(column), as: UTF8.self)
  }
}
