// The catalogue's tables as values: one open database, used by one thread at a time.
import MirrorPlatform
import MirrorStore

/// Prepared statements over an open catalogue.
final class CatalogueStore {
  let connection: Connection
  /// Since absences that are over were last dropped.
  var absencesPut = 0
  /// Whether the table of absences may hold any; nil while nobody has looked. A listing of new names need not search it.
  var hasAbsences: Bool?
  private var prepared: [Statement?] = Array(repeating: nil, count: Query.allCases.count)

  init(_ connection: Connection) { self.connection = connection }

  func statement(_ query: Query) throws(SQLiteError) -> Statement {
    if let statement = prepared[query.rawValue] { return statement }
    let statement = try connection.prepare(query.sql)
    prepared[query.rawValue] = statement
    return statement
  }

  func meta(_ name: MetaName) throws(SQLiteError) -> Int64? { try meta(name.rawValue) }

  func meta(_ name: String) throws(SQLiteError) -> Int64? {
    let query = try statement(.getMeta)
    query.bind(1, text: name)
    guard try query.step() else { return nil }
    defer { query.reset() }
    return query.int(0)
  }

  func setMeta(_ name: MetaName, _ value: Int64) throws(SQLiteError) { try setMeta(name.rawValue, value) }

  func setMeta(_ name: String, _ value: Int64) throws(SQLiteError) {
    let query = try statement(.putMeta)
    query.bind(1, text: name)
    query.bind(2, value)
    try query.run()
  }

  /// Counts every row: seconds for millions.
  func countTotals() throws(SQLiteError) -> Budget.Totals {
    let query = try connection.prepare(Schema.totals)
    guard try query.step() else { return Budget.Totals() }
    defer { query.reset() }
    return Budget.Totals(objects: Int(query.int(0)), bytes: query.int(1), charged: query.int(2))
  }

  func setTotals(_ totals: Budget.Totals) throws(SQLiteError) {
    try setMeta(.objects, Int64(totals.objects))
    try setMeta(.bytes, totals.bytes)
    try setMeta(.charged, totals.charged)
  }
}

// MARK: Objects
extension CatalogueStore {
  func object(_ key: ObjectKey) throws(SQLiteError) -> CatalogueObject? {
    let query = try statement(.findObject)
    bind(query, key)
    guard try query.step() else { return nil }
    let revision = query.revision(0, version: 6)
    let (storageClass, validated, said, described) = (query.text(3), query.int(4), query.text(5), query.text(7))
    query.reset()
    let hasBlob = try blobRows(key).contains { $0.metadata.revision.sameBytes(as: revision) }
    return CatalogueObject(
      key: key, revision: revision, storageClass: storageClass, validated: WallTime(milliseconds: validated),
      hasBlob: hasBlob, said: said, described: described)
  }

  /// Whether the key had another revision before.
  func put(
    _ key: ObjectKey, _ revision: ObjectRevision, _ storageClass: String?, _ validated: WallTime
  ) throws(SQLiteError) -> Bool {
    let find = try statement(.findObject)
    bind(find, key)
    var before: ObjectRevision?
    if try find.step() {
      let found = find.revision(0, version: 6)
      let sameClass = find.text(3) == storageClass
      find.reset()
      // The common case of a listing, which names no version: nothing moved but the time.
      var seen = revision
      seen.version = revision.version ?? found.version
      if found == seen && sameClass {
        try validate(key, validated)
        return false
      }
      before = found
    } else {
      try removeAbsence(key)
    }
    let query = try statement(.putObject)
    bind(query, key)
    query.bind(3, revision)
    query.bind(6, text: storageClass)
    query.bind(7, validated.milliseconds)
    let isAnother = before.map { !$0.sameBytes(as: revision) } ?? false
    query.bind(8, isAnother ? 0 : 1)
    query.bind(9, text: revision.version)
    try query.run()
    return isAnother
  }

  func note(_ key: ObjectKey, said text: String) throws(SQLiteError) {
    let query = try statement(.saidOfObject)
    bind(query, key)
    query.bind(3, text: text)
    try query.run()
  }

  func note(_ key: ObjectKey, described text: String) throws(SQLiteError) {
    if !text.isEmpty { try setMeta(.described, 1) }
    let query = try statement(.describeObject)
    bind(query, key)
    query.bind(3, text: text)
    try query.run()
  }

  func validate(_ key: ObjectKey, _ time: WallTime) throws(SQLiteError) {
    let query = try statement(.validateObject)
    bind(query, key)
    query.bind(3, time.milliseconds)
    try query.run()
  }

  func remove(_ key: ObjectKey) throws(SQLiteError) {
    let query = try statement(.removeObject)
    bind(query, key)
    try query.run()
  }

  func bind(_ query: Statement, _ key: ObjectKey) {
    let parts = KeyParts(key)
    query.bind(1, parts.parent)
    query.bind(2, parts.name)
  }

  /// Binds the range of everything that begins with a key.
  func bindRange(_ query: Statement, _ prefix: ObjectKey) {
    query.bind(1, prefix.bytes[...])
    query.bind(2, prefix.endOfPrefix)
  }
}

// MARK: Directories
extension CatalogueStore {
  func directory(_ key: ObjectKey) throws(SQLiteError) -> CatalogueDirectory? {
    let find = try statement(.findDirectory)
    find.bind(1, key.bytes[...])
    let isKnown = try find.step()
    let listed = isKnown ? find.optionalInt(0) : nil
    find.reset()
    let objects = try self.objects(in: key)
    let directories = try directories(in: key)
    let absences = try self.absences(in: key)
    if !isKnown && objects.isEmpty && directories.isEmpty && absences.isEmpty { return nil }
    return CatalogueDirectory(
      listed: listed.map { WallTime(milliseconds: $0) }, objects: objects, directories: directories,
      absences: absences)
  }

  /// In key order. A row that contradicts itself is passed over.
  func directories(in directory: ObjectKey) throws(SQLiteError) -> [ObjectKey] {
    let query = try statement(.directoriesIn)
    query.bind(1, directory.bytes[...])
    var directories: [ObjectKey] = []
    while try query.step() {
      let key = query.bytes(0)
      let name = key.dropFirst(directory.bytes.count)
      guard key.starts(with: directory.bytes), name.count > 1, name.firstIndex(of: 0x2F) == name.endIndex - 1 else {
        continue
      }
      directories.append(ObjectKey(key))
    }
    return directories
  }

  private func objects(in directory: ObjectKey) throws(SQLiteError) -> [CatalogueObject] {
    var copies: [[UInt8]: [ObjectRevision]] = [:]
    let blobs = try statement(.blobsIn)
    blobs.bind(1, directory.bytes[...])
    while try blobs.step() { copies[blobs.bytes(0), default: []].append(blobs.revision(1)) }
    var objects: [CatalogueObject] = []
    let query = try statement(.objectsIn)
    query.bind(1, directory.bytes[...])
    while try query.step() {
      let name = query.bytes(5)
      guard !name.contains(0x2F) else { continue }
      let revision = query.revision(0, version: 7)
      let hasBlob = copies[name]?.contains { $0.sameBytes(as: revision) } ?? false
      objects.append(
        CatalogueObject(
          key: ObjectKey(directory.bytes + name), revision: revision, storageClass: query.text(3),
          validated: WallTime(milliseconds: query.int(4)), hasBlob: hasBlob, said: query.text(6),
          described: query.text(8)))
    }
    return objects
  }

  func putDirectory(_ key: ObjectKey, listed: WallTime?) throws(SQLiteError) {
    let query = try statement(.putDirectory)
    query.bind(1, key.bytes[...])
    query.bind(2, KeyParts.parent(ofDirectory: key).map { Array($0) })
    query.bind(3, listed?.milliseconds)
    try query.run()
    if !key.bytes.isEmpty { try removeAbsence(ObjectKey(Array(key.bytes.dropLast()))) }
  }

  func removeDirectory(_ key: ObjectKey) throws(SQLiteError) {
    for statement in [Query.removeObjectsBelow, .removeDirectoriesBelow] {
      let query = try self.statement(statement)
      bindRange(query, key)
      try query.run()
    }
  }
}

// MARK: Revisions in columns
extension Statement {
  /// Binds ETag, size and time at `index` and the two after it.
  func bind(_ index: Int32, _ revision: ObjectRevision) {
    if let digest = revision.etag?.md5 { bind(index, digest[...]) } else { bind(index, text: revision.etag?.bytes) }
    bind(index + 1, revision.size)
    bind(index + 2, revision.modified)
  }

  func revision(_ column: Int32, version: Int32? = nil) -> ObjectRevision {
    ObjectRevision(
      etag: tag(column), size: max(0, int(column + 1)), modified: optionalInt(column + 2),
      version: version.flatMap { text($0) }
    )
  }

  private func tag(_ column: Int32) -> EntityTag? {
    guard let bytes = optionalBytes(column) else { return nil }
    return bytes.count == 16 && !isText(column) ? EntityTag(md5: bytes) : EntityTag(bytes)
  }
}
