// What is remembered of listings: when they were complete, what they lack, and that they are to be asked for again.
public import MirrorPlatform
public import MirrorStore

/// What is known of a directory without its children.
public enum RememberedListing: Hashable, Sendable {
  case exists
  /// A complete listing was asked for at this time.
  case listed(WallTime)
}

extension Catalogue {
  /// Whether a directory (`""` or `a/b/`) is known, and when it was last listed whole.
  public func listing(_ key: ObjectKey) async -> RememberedListing? {
    await ask(nil) { session in
      session.read { (store) throws(SQLiteError) in try store.listing(key) } ?? nil
    }
  }

  /// Forgets when the origin vouched for a key or for its absence, or for all below it where it is a directory; how many
  /// names it was.
  public func markStale(_ key: ObjectKey) async -> Int {
    await ask(0) { session in
      session.commit()
      return session.read { (store) throws(SQLiteError) in try store.markStale(key) } ?? 0
    }
  }
}

extension CatalogueStore {
  func listing(_ key: ObjectKey) throws(SQLiteError) -> RememberedListing? {
    let query = try statement(.findDirectory)
    query.bind(1, key.bytes[...])
    guard try query.step() else { return nil }
    defer { query.reset() }
    return query.optionalInt(0).map { .listed(WallTime(milliseconds: $0)) } ?? .exists
  }

  /// The changes that take from a directory what is not among these names.
  func strangers(in directory: ObjectKey, to names: [[UInt8]]) throws(SQLiteError) -> [CatalogueChange] {
    let query = try statement(.namesIn)
    query.bind(1, directory.bytes[...])
    var objects: [[UInt8]] = []
    while try query.step() { objects.append(query.bytes(0)) }
    let directories = try directories(in: directory)
    guard !objects.isEmpty || !directories.isEmpty else { return [] }
    let names = Set(names)
    return objects.filter { !names.contains($0) }.map { .removed(ObjectKey(directory.bytes + $0)) }
      + directories.filter { !names.contains(Array($0.bytes[directory.bytes.count...])) }.map { .directoryRemoved($0) }
  }

  func markStale(_ key: ObjectKey) throws(SQLiteError) -> Int {
    let below = key.bytes.isEmpty || key.bytes.last == 0x2F ? key : ObjectKey(key.bytes + [0x2F])
    let objects = try statement(.staleObjects)
    bindRange(objects, below)
    let parts = KeyParts(key)
    objects.bind(3, parts.parent)
    objects.bind(4, parts.name)
    try objects.run()
    let count = connection.changes
    let absences = try statement(.removeAbsencesBelow)
    bindRange(absences, below)
    absences.bind(3, parts.parent)
    absences.bind(4, parts.name)
    try absences.run()
    let absent = connection.changes
    let directories = try statement(.staleDirectories)
    bindRange(directories, below)
    try directories.run()
    return count + absent
  }
}
