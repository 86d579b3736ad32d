// Keys that have no name in the mount: remembered for those who look while nothing is mounted.
public import MirrorPlatform
public import MirrorStore

/// An object that can't be a file.
public struct HiddenKey: Hashable, Sendable {
  public let key: ObjectKey
  public let reason: String
  /// When it was seen.
  public let seen: WallTime
}

extension CatalogueStore {
  func putHidden(_ key: ObjectKey, _ reason: String, seen: WallTime) throws(SQLiteError) {
    let query = try statement(.putHidden)
    query.bind(1, key.bytes[...])
    query.bind(2, text: reason)
    query.bind(3, seen.milliseconds)
    try query.run()
  }
}

extension CacheInspector {
  /// Those of a source that begin with `prefix`, in order, as mounts saw them.
  public func hiddenKeys(
    of source: CachedSource, under prefix: ObjectKey = ObjectKey([])
  ) throws(CacheError) -> [HiddenKey] {
    try reading(source) { (store) throws(SQLiteError) in
      // A release that had no such table may have been the last.
      let table = try store.connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'hidden'")
      guard try table.step() else { return [] }
      table.reset()
      let query = try store.connection.prepare(
        "SELECT key, reason, seen FROM hidden WHERE key >= ?1 AND (?2 IS NULL OR key < ?2) ORDER BY key")
      store.bindRange(query, prefix)
      var keys: [HiddenKey] = []
      while try query.step() {
        keys.append(
          HiddenKey(
            key: ObjectKey(query.bytes(0)), reason: query.text(1) ?? "", seen: WallTime(milliseconds: query.int(2))))
      }
      return keys
    } ?? []
  }
}
