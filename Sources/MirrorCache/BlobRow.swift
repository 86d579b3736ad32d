// A blob as the catalogue keeps it.
import MirrorStore

/// One row of `blobs`.
struct BlobRow: Sendable {
  static let columns =
    "id, parent, name, etag, size, modified, content_type, storage_class, version_id, bytes, complete, used, era, written, blocks, digests"

  let id: Int64
  let key: ObjectKey
  let metadata: ObjectMetadata
  /// Of all blocks that are present.
  var bytes: Int64
  /// All blocks are; nil where the row's bitmap makes no sense.
  var blocks: BlockMap?
  /// XXH3-64 by block, 0 where absent; empty: those in the catalogue hold.
  var digests: [UInt64]
  var used: Int64
  var era: Int64
  /// When the file was last written, nanoseconds.
  var written: Int64

  var isComplete: Bool { blocks?.isFull ?? false }
}

extension CatalogueStore {
  /// The rows of a key, the newest first.
  func blobRows(_ key: ObjectKey) throws(SQLiteError) -> [BlobRow] {
    let query = try statement(.blobsOf)
    bind(query, key)
    var rows: [BlobRow] = []
    while try query.step() { rows.append(query.blobRow()) }
    return rows
  }

  func put(_ row: BlobRow) throws(SQLiteError) {
    let query = try statement(.putBlob)
    let parts = KeyParts(row.key)
    query.bind(1, row.id)
    query.bind(2, parts.parent)
    query.bind(3, parts.name)
    query.bind(4, row.metadata.revision)
    query.bind(7, text: row.metadata.contentType)
    query.bind(8, text: row.metadata.storageClass)
    query.bind(9, text: row.metadata.revision.version)
    query.bind(10, row.bytes)
    query.bind(11, row.isComplete ? 1 : 0)
    query.bind(12, row.used)
    query.bind(13, row.era)
    query.bind(14, row.written)
    query.bind(15, row.isComplete ? nil : row.blocks?.bytes)
    query.bind(16, row.digests.isEmpty ? nil : encodeDigests(row.digests))
    try query.run()
  }

  func use(_ id: Int64, _ used: Int64) throws(SQLiteError) {
    let query = try statement(.useBlob)
    query.bind(1, id)
    query.bind(2, used)
    try query.run()
  }

  func removeBlob(_ id: Int64) throws(SQLiteError) {
    let query = try statement(.removeBlob)
    query.bind(1, id)
    try query.run()
  }

  /// Ids and bytes of the copies of everything below a directory.
  func blobs(below directory: ObjectKey) throws(SQLiteError) -> [(id: Int64, bytes: Int64)] {
    let query = try statement(.blobIDsBelow)
    bindRange(query, directory)
    var found: [(Int64, Int64)] = []
    while try query.step() { found.append((query.int(0), query.count(1))) }
    return found
  }

  /// Ids and bytes of the copies between two ids, in order.
  func blobs(after last: Int64, before end: Int64, limit: Int) throws(SQLiteError) -> [(id: Int64, bytes: Int64)] {
    let query = try connection.prepare(
      "SELECT id, bytes FROM blobs WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT \(limit)")
    query.bind(1, last)
    query.bind(2, end)
    var found: [(Int64, Int64)] = []
    while try query.step() { found.append((query.int(0), query.int(1))) }
    return found
  }

  struct EvictionCandidate {
    let id: Int64
    let bytes: Int64
    let used: Int64
  }

  /// The least recently used blobs that are not pinned, oldest first.
  func oldestBlobs() throws(SQLiteError) -> [EvictionCandidate] {
    let query = try statement(.oldestBlobs)
    var found: [EvictionCandidate] = []
    while try query.step() {
      found.append(EvictionCandidate(id: query.int(0), bytes: query.count(1), used: query.int(2)))
    }
    return found
  }

  enum RowState { case none, current, superseded(bytes: Int64) }

  /// Whether a blob has a row, and whether its revision is its key's; a key that is not known supersedes nothing.
  func rowState(_ id: Int64) throws(SQLiteError) -> RowState {
    let query = try statement(.findBlob)
    query.bind(1, id)
    guard try query.step() else { return .none }
    defer { query.reset() }
    let isKnown = query.int(7) != 0
    return isKnown && !query.revision(1).sameBytes(as: query.revision(4))
      ? .superseded(bytes: query.count(0)) : .current
  }

  /// Pins all keys that begin with a prefix, now and later, or takes away the pins that begin with it.
  func pin(_ prefix: ObjectKey, _ isPinned: Bool) throws(SQLiteError) {
    let pins = try statement(isPinned ? .addPin : .removePins)
    if isPinned { pins.bind(1, prefix.bytes[...]) } else { bindRange(pins, prefix) }
    try pins.run()
    let query = try statement(.pinBlobs)
    bindRange(query, prefix)
    try query.run()
  }

  func pins() throws(SQLiteError) -> [ObjectKey] {
    let query = try statement(.readPins)
    var pins: [ObjectKey] = []
    while try query.step() { pins.append(ObjectKey(query.bytes(0))) }
    return pins
  }
}

extension Statement {
  /// Reads `BlobRow.columns`.
  func blobRow() -> BlobRow {
    var revision = revision(3)
    revision.version = text(8)
    let blocks = BlockGeometry(size: revision.size).count
    let isComplete = int(10) != 0
    return BlobRow(
      id: int(0), key: ObjectKey(bytes(1) + bytes(2)),
      metadata: ObjectMetadata(
        revision: revision, storageClass: text(7), contentType: text(6)),
      bytes: count(9),
      blocks: isComplete ? BlockMap(count: blocks, full: true) : BlockMap(bytes: bytes(14), count: blocks),
      digests: decodeDigests(bytes(15)), used: int(11), era: int(12), written: int(13))
  }
}

/// Eight bytes a block, the lowest first.
private func encodeDigests(_ digests: [UInt64]) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(digests.count * 8)
  for digest in digests {
    for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: digest >> UInt64(shift * 8))) }
  }
  return bytes
}

private func decodeDigests(_ bytes: [UInt8]) -> [UInt64] {
  (0..<bytes.count / 8).map { index in
    (0..<8).reduce(0) { $0 | UInt64(bytes[index * 8 + $1]) << UInt64($1 * 8) }
  }
}
