// What commands may do to a cache that no process owns: evict and pin.
import MirrorPlatform
public import MirrorStore

extension CacheInspector {
  /// Deletes the copies of keys that begin with `prefix`, the least recently used first, until those that are left
  /// under it take at most `target` bytes on disk. Pinned ones stay. The number deleted and their bytes.
  ///
  /// - Throws: `.locked` while a process owns the cache.
  @discardableResult
  public func evict(
    _ source: CachedSource, under prefix: ObjectKey = ObjectKey([]), downTo target: Int64 = 0
  ) throws(CacheError) -> (objects: Int, bytes: Int64) {
    let owner = try source.files.lock()
    defer { withExtendedLifetime(owner) {} }
    var rest = try total(of: source, under: prefix).diskBytes
    var chosen: [Int64] = []
    var bytes: Int64 = 0
    _ = try reading(source) { (store) throws(SQLiteError) in
      let query = try store.connection.prepare(
        """
        SELECT id, bytes FROM blobs WHERE pinned = 0 AND CAST(parent || name AS BLOB) >= ?1
        AND (?2 IS NULL OR CAST(parent || name AS BLOB) < ?2) ORDER BY used
        """)
      store.bindRange(query, prefix)
      while rest > target || target <= 0, try query.step() {
        chosen.append(query.int(0))
        bytes += query.int(1)
        rest -= diskBytes(query.int(1))
      }
      query.reset()
    }
    return (try delete(chosen, of: source), bytes)
  }

  /// Exempts the copies of keys that begin with `prefix` from eviction, those made later too, or takes away the pins
  /// that begin with it: a broader one stays.
  ///
  /// - Throws: `.locked` while a process owns the cache.
  public func pin(_ source: CachedSource, under prefix: ObjectKey, _ isPinned: Bool) throws(CacheError) {
    let owner = try source.files.lock()
    defer { withExtendedLifetime(owner) {} }
    try writing(source) { (store) throws(SQLiteError) in try store.pin(prefix, isPinned) }
  }

  /// Deletes copies: files, then rows. Call as the owner.
  func delete(_ ids: [Int64], of source: CachedSource) throws(CacheError) -> Int {
    guard !ids.isEmpty else { return 0 }
    let blobs = source.files.blobs
    for id in ids {
      let path = SourceDirectory.blobPath(id, under: blobs)
      do throws(Errno) { try FileSystem.removeFile(path) } catch {
        throw CacheError(error, path: path, doing: "delete it")
      }
    }
    try writing(source) { (store) throws(SQLiteError) in
      for id in ids { try store.removeBlob(id) }
    }
    return ids.count
  }

  /// Writes rows in place of those with their ids. Call as the owner.
  func replace(_ rows: [BlobRow], of source: CachedSource) throws(CacheError) {
    guard !rows.isEmpty else { return }
    try writing(source) { (store) throws(SQLiteError) in for row in rows { try store.put(row) } }
  }

  /// One transaction on a catalogue that nobody owns; a clean end stays one.
  private func writing(
    _ source: CachedSource, _ change: (CatalogueStore) throws(SQLiteError) -> Void
  ) throws(CacheError) {
    let path = source.files.catalogue
    do throws(SQLiteError) {
      let store = CatalogueStore(try Connection(path, .readWrite))
      try store.connection.execute(Schema.settings)
      try store.connection.execute("BEGIN IMMEDIATE")
      try change(store)
      try store.setTotals(try store.countTotals())
      try store.connection.execute("COMMIT")
    } catch { throw CacheError(error, path: path) }
  }
}
