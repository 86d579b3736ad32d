// Rows of the catalogue with any values in them, and the manifest of a seed.
import MirrorPlatform
import MirrorStore

/// One catalogue in memory for all runs; the fuzzer has one thread.
private nonisolated(unsafe) let store: CatalogueStore? = {
  do throws(SQLiteError) {
    let connection = try Connection(":memory:", .readWrite)
    try connection.execute(Schema.tables)
    try connection.execute(Schema.hidden)
    try connection.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY")
    return CatalogueStore(connection)
  } catch { return nil }
}()
private nonisolated(unsafe) var inserts: [String: Statement] = [:]
private let key = ObjectKey("d/f")

extension Statement {
  fileprivate func bindAny(_ index: Int32, _ input: inout FuzzInput) {
    switch input.byte() & 7 {
    case 0: bind(index, nil as Int64?)
    case 1: bind(index, text: input.short())
    case 2: bind(index, input.short())
    case 3: bind(index, input.number())
    case 4: bind(index, Int64(Int8(bitPattern: input.byte())))
    case 5: bind(index, Int64(input.byte()) << 17)
    case 6: bind(index, [Int64.max, .min, 0, 1, -1, .max - 1, 1 << 40][Int(input.byte()) % 7])
    default: bind(index, text: "\(Int8(bitPattern: input.byte()))")
    }
  }
}

private func insert(_ sql: String, _ count: Int32, _ input: inout FuzzInput) throws(SQLiteError) {
  guard let store else { return }
  let statement: Statement
  if let known = inserts[sql] { statement = known } else { statement = try store.connection.prepare(sql) }
  inserts[sql] = statement
  for index in 1...count { statement.bindAny(index, &input) }
  // What the tables do not take, nobody can read.
  do throws(SQLiteError) { try statement.run() } catch { promise(error.isOurs, "a refused row is no damage") }
}

public func fuzzCatalogue(_ bytes: [UInt8]) {
  guard let store else { return promise(false, "a catalogue in memory") }
  var input = FuzzInput(bytes)
  do throws(SQLiteError) {
    try store.connection.execute("BEGIN")
    let kind = input.byte()
    switch kind % 4 {
    case 0, 1: try fuzzBlobs(store, &input)
    case 2: try fuzzNames(store, &input)
    default: try fuzzNumbers(store, &input)
    }
    try store.connection.execute("ROLLBACK")
    store.hasAbsences = nil
  } catch { promise(false, "reading a row fails") }
}

private func fuzzBlobs(_ store: CatalogueStore, _ input: inout FuzzInput) throws(SQLiteError) {
  while !input.isEmpty {
    try insert(
      "INSERT INTO blobs(parent, name, etag, size, modified, content_type, storage_class, version_id, bytes, complete, used, era, written, blocks, digests) VALUES(CAST('d/' AS BLOB), CAST('f' AS BLOB), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
      13, &input)
  }
  for row in try store.blobRows(key) {
    let geometry = BlockGeometry(size: row.metadata.revision.size)
    // As an open takes it: its file has the size that the row says.
    guard let blocks = row.blocks, row.metadata.revision.size >= 0 else { continue }
    promise(blocks.count == geometry.count, "as many blocks as the size has")
    promise(blocks.present >= 0 && blocks.present <= blocks.count, "no more blocks than there are")
    let digests = row.digests.count == geometry.count ? row.digests : []
    var state = BlobState(
      geometry: geometry, blocks: blocks, unverified: blocks.isEmpty ? nil : blocks, digests: digests, isUnsaved: false,
      savedUse: row.used, savedAt: .distantPast, era: row.era)
    promise(state.bytes >= 0 && state.bytes <= max(0, geometry.size), "no more bytes than the object has")
    if geometry.size > 0, case .yes = state.readable(0..<min(geometry.size, 1 << 30)) {
      promise(false, "what nobody has checked is not read")
    }
    if case .yes = state.readable(0..<geometry.size.addingOne) { promise(geometry.size < 0, "nothing beyond the end") }
    _ = state.missing(from: 0, limit: 8 << 20)
    guard geometry.count < 1 << 8 else { continue }
    promise(BlockMap(bytes: blocks.bytes, count: blocks.count) == blocks, "the map comes back as it was")
    for block in 0..<geometry.count where blocks.contains(block) { _ = state.settle(block, isGood: block & 1 == 0) }
    for block in 0..<geometry.count {
      promise(state.holds(block) == (blocks.contains(block) && block & 1 == 0), "only good blocks are held")
    }
    // What is put comes back.
    try store.put(row)
    guard let again = try store.blobRows(key).first(where: { $0.id == row.id }) else {
      return promise(false, "a row that was put is there")
    }
    promise(again.blocks == blocks && again.digests == row.digests && again.bytes == row.bytes, "and is the same")
  }
  _ = try store.blobs(below: ObjectKey("d/"))
  _ = try store.oldestBlobs()
  _ = try store.countTotals()
}

private func fuzzNames(_ store: CatalogueStore, _ input: inout FuzzInput) throws(SQLiteError) {
  let at = WallTime(seconds: 1_700_000_000)
  while !input.isEmpty {
    try insert(
      "INSERT INTO objects VALUES(CAST('d/' AS BLOB), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", 9, &input)
    try insert("INSERT INTO directories VALUES(?1, ?2, ?3)", 3, &input)
    try insert("INSERT INTO absences VALUES(CAST('d/' AS BLOB), ?1, ?2)", 2, &input)
  }
  guard let directory = try store.directory(ObjectKey("d/")) else { return }
  for object in directory.objects {
    let name = object.key.bytes.dropFirst(2)
    promise(object.key.bytes.starts(with: Array("d/".utf8)), "an object lies in its directory")
    promise(!name.contains(0x2F), "directly")
    _ = object.validated - at
    _ = at - object.validated
    _ = object.validated.seconds
    if let tag = object.revision.etag { promise(EntityTag(tag.bytes) == tag, "a tag is as it is spelled") }
    if let text = object.described {
      let described = PosixMetadata(text: text)
      promise(PosixMetadata(text: described.text) == described, "what is described comes back")
    }
  }
  for child in directory.directories {
    promise(child.bytes.starts(with: Array("d/".utf8)) && child.bytes.count > 3, "a directory lies in its own")
  }
  _ = try store.object(key)
  _ = try store.listing(ObjectKey("d/"))
  _ = try store.absence(key)
  _ = try store.strangers(in: ObjectKey("d/"), to: [])
  _ = try store.markStale(key)
  _ = try store.dropAbsences(now: at)
}

private func fuzzNumbers(_ store: CatalogueStore, _ input: inout FuzzInput) throws(SQLiteError) {
  while !input.isEmpty {
    try insert("INSERT INTO ledger VALUES(?1, CAST('' AS BLOB), 'get', 'success', ?2, ?3, ?4)", 4, &input)
    try insert("INSERT INTO prices VALUES(?1, ?2)", 2, &input)
    try insert("INSERT INTO meta VALUES(?1, ?2)", 2, &input)
  }
  _ = try store.ledger(.allDays)
  _ = try store.prices()
  for (_, met) in try store.lacks() { promise(met.milliseconds > 0, "a lack was met at some time") }
}

extension Int64 {
  fileprivate var addingOne: Int64 { self == .max ? self : self + 1 }
}

public func fuzzSeed(_ bytes: [UInt8]) {
  if let manifest = SeedManifest(bytes: bytes) {
    promise(SeedManifest(bytes: manifest.bytes) == manifest, "a manifest comes back as it was")
    for entry in manifest.entries {
      promise(entry.revision.size >= 0 && entry.sha256.count == 32, "an entry can be looked for")
    }
    _ = WallTime(seconds: 1_700_000_000) - manifest.created
  }
  if let identity = SourceIdentity(encoded: bytes) {
    promise(SourceIdentity(encoded: identity.encoded) == identity, "an identity comes back as it was")
    let name = identity.directoryName
    promise(
      !name.isEmpty && name.utf8.count < 128 && !name.contains("/") && !name.hasPrefix("."), "it has a directory's name"
    )
  }
}
