// The bytes of one copy, read from outside: checked block by block as they are read.
public import MirrorPlatform
public import MirrorStore

/// A copy and where its bytes are.
public struct CachedCopy: Sendable {
  public let key: ObjectKey
  public let revision: ObjectRevision
  public let cachedBytes: Int64
  public let isComplete: Bool
  /// It is of the key's current revision, as far as that is known.
  public let isCurrent: Bool
  fileprivate let row: BlobRow
  fileprivate let blobs: String

  /// Gives all bytes in order, in pieces of at most a block. EIO where they are not those that were stored.
  public func read(_ body: ([UInt8]) throws(Errno) -> Void) throws(Errno) {
    let geometry = BlockGeometry(size: revision.size)
    guard isComplete, geometry.count == 0 || row.digests.count == geometry.count else { throw Errno.inputOutput }
    let file = try File.open(SourceDirectory.blobPath(row.id, under: blobs), .read)
    for block in 0..<geometry.count {
      let range = geometry.start(of: block)..<geometry.end(of: block)
      let bytes = try file.read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
      guard Int64(bytes.count) == range.upperBound - range.lowerBound, stableHash(bytes) == row.digests[block] else {
        throw Errno.inputOutput
      }
      try body(bytes)
    }
  }
}

extension CacheInspector {
  /// All copies of keys that begin with `prefix`, in no order; `body` may answer false to end it.
  public func forEachCopy(
    of source: CachedSource, under prefix: ObjectKey = ObjectKey([]), _ body: (CachedCopy) -> Bool
  ) throws(CacheError) {
    var last: Int64 = 0
    // In pages, so that no reader keeps the owner from trimming its log for hours.
    while true {
      let page = try reading(source) { (store) throws(SQLiteError) in
        try store.copies(after: last, under: prefix, in: source.files.blobs)
      }
      guard let page, !page.isEmpty else { return }
      for copy in page {
        last = copy.row.id
        if !body(copy) { return }
      }
    }
  }
}

extension CatalogueStore {
  fileprivate func copies(
    after id: Int64, under prefix: ObjectKey, in blobs: String
  ) throws(SQLiteError) -> [CachedCopy] {
    let columns = BlobRow.columns.split(separator: ", ").map { "b." + $0 }.joined(separator: ", ")
    let query = try connection.prepare(
      """
      SELECT \(columns), o.etag, o.size, o.modified
      FROM blobs b LEFT JOIN objects o ON o.parent = b.parent AND o.name = b.name
      WHERE b.id > ?3 AND CAST(b.parent || b.name AS BLOB) >= ?1
      AND (?2 IS NULL OR CAST(b.parent || b.name AS BLOB) < ?2) ORDER BY b.id LIMIT 64
      """)
    bindRange(query, prefix)
    query.bind(3, id)
    var copies: [CachedCopy] = []
    while try query.step() {
      let row = query.blobRow()
      let isCurrent = !query.isNull(17) && query.revision(16).sameBytes(as: row.metadata.revision)
      copies.append(
        CachedCopy(
          key: row.key, revision: row.metadata.revision, cachedBytes: row.bytes, isComplete: row.isComplete,
          isCurrent: isCurrent, row: row, blobs: blobs))
    }
    return copies
  }
}
