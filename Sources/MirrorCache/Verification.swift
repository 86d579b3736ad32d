// `cache verify`: every block of every copy against the digest that its row remembers.
public import MirrorPlatform
public import MirrorStore

/// Something that is not as the catalogue says.
public struct CacheDamage: Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    case missing
    case wrongSize(Int64)
    /// Bytes that are not those that were stored.
    case bytes(Range<Int64>)
    case unreadable(Errno)
    /// The row makes no sense, or has no digests.
    case row
  }
  public let key: ObjectKey
  public let kind: Kind

  public var description: String {
    switch kind {
    case .missing: "\(key): the file is missing"
    case .wrongSize(let size): "\(key): the file has \(size) bytes"
    case .bytes(let range): "\(key): bytes \(range.lowerBound) to \(range.upperBound - 1) are damaged"
    case .unreadable(let error): "\(key): can't be read: \(error)"
    case .row: "\(key): its row in the catalogue is damaged"
    }
  }
}

/// How far a verification is, and how it ended.
public struct CacheVerification: Sendable {
  public var objects = 0
  public var totalObjects = 0
  public var bytes: Int64 = 0
  public var totalBytes: Int64 = 0
  public var damaged: [CacheDamage] = []
  /// Damaged copies that were deleted whole.
  public var dropped = 0
  /// Damaged blocks that were dropped from copies whose other blocks are right.
  public var droppedBlocks = 0
}

extension CacheInspector {
  /// Reads every block of every copy under `prefix`. `progress` is called after each object; false ends it there.
  /// With `repair`, damaged blocks are dropped, and copies that can't be used at all are deleted: what is missing then
  /// is fetched anew when it is read.
  ///
  /// - Throws: `.locked` for a repair while a process owns the cache.
  public func verify(
    _ source: CachedSource, under prefix: ObjectKey = ObjectKey([]), repair: Bool = false,
    progress: (CacheVerification) -> Bool = { _ in true }
  ) throws(CacheError) -> CacheVerification {
    let owner = repair ? try source.files.lock() : nil
    defer { withExtendedLifetime(owner) {} }
    var result = CacheVerification()
    var broken: [BlobRow] = []
    var missing: [(id: Int64, damage: [CacheDamage])] = []
    // Files go before their rows, so an end in between leaves rows without files: nothing that was stored is damaged.
    var lost: [Int64] = []
    let total = try total(of: source, under: prefix)
    (result.totalObjects, result.totalBytes) = (total.objects, total.cachedBytes)
    _ = try reading(source) { (store) throws(SQLiteError) in
      var last: Int64 = 0
      let reach = try store.reachOfUncleanEnd(hasOwner: source.owner != nil)
      // In pages, so that no reader keeps the owner from trimming its log for hours.
      while let page = try store.rows(after: last, under: prefix), !page.isEmpty {
        for row in page {
          last = row.id
          let found = row.damage(in: source.files.blobs)
          let isMissing = found.contains { $0.kind == .missing }
          if isMissing, row.era < reach {
            lost.append(row.id)
            // A copy that was evicted in the meantime is no damage.
          } else if !repair, source.owner != nil, isMissing {
            missing.append((row.id, found))
          } else if !found.isEmpty, try store.row(row.id) != nil {
            result.damaged += found
            broken.append(row)
          }
          result.objects += 1
          result.bytes += row.bytes
          if !progress(result) { return }
        }
      }
      result.damaged += try stillMissing(missing, of: source, in: store)
    }
    if repair { try mend(broken, lost, of: source, &result) }
    return result
  }

  private func mend(
    _ broken: [BlobRow], _ gone: [Int64], of source: CachedSource, _ result: inout CacheVerification
  ) throws(CacheError) {
    var lost = gone
    var mended: [BlobRow] = []
    for row in broken {
      let damage = result.damaged.filter { $0.key == row.key }
      if let (next, count) = row.without(damage) {
        mended.append(next)
        result.droppedBlocks += count
      } else {
        lost.append(row.id)
      }
    }
    result.dropped = try delete(lost, of: source) - gone.count
    try replace(mended, of: source)
  }

  /// An owner at work deletes files first and has their rows deleted soon after: only what stays missing is damage.
  /// One that has died since deletes no rows any more, and what it left is no damage.
  private func stillMissing(
    _ missing: [(id: Int64, damage: [CacheDamage])], of source: CachedSource, in store: CatalogueStore
  ) throws(SQLiteError) -> [CacheDamage] {
    var left = missing
    for _ in 0..<30 where !left.isEmpty {
      if source.files.owner == nil, try store.meta(.clean) != 1 { return [] }
      var stay: [(id: Int64, damage: [CacheDamage])] = []
      for copy in left { if try store.row(copy.id) != nil { stay.append(copy) } }
      left = stay
      if !left.isEmpty { pause(.milliseconds(100)) }
    }
    return left.flatMap(\.damage)
  }
}

extension CatalogueStore {
  /// Rows of an era below this one were there when a process ended without closing the catalogue, and were not swept.
  fileprivate func reachOfUncleanEnd(hasOwner: Bool) throws(SQLiteError) -> Int64 {
    let (era, isClean) = (try meta(.era) ?? 0, try meta(.clean) == 1)
    guard hasOwner || isClean else { return .max }
    return try meta(.swept) ?? 0 < era ? era : 0
  }

  /// A page of rows in the order of ids.
  fileprivate func rows(after id: Int64, under prefix: ObjectKey) throws(SQLiteError) -> [BlobRow]? {
    let query = try connection.prepare(
      """
      SELECT \(BlobRow.columns) FROM blobs WHERE id > ?3 AND CAST(parent || name AS BLOB) >= ?1
      AND (?2 IS NULL OR CAST(parent || name AS BLOB) < ?2) ORDER BY id LIMIT 32
      """)
    bindRange(query, prefix)
    query.bind(3, id)
    var rows: [BlobRow] = []
    while try query.step() { rows.append(query.blobRow()) }
    return rows
  }

  fileprivate func row(_ id: Int64) throws(SQLiteError) -> BlobRow? {
    let query = try connection.prepare("SELECT \(BlobRow.columns) FROM blobs WHERE id = ?1")
    query.bind(1, id)
    guard try query.step() else { return nil }
    defer { query.reset() }
    return query.blobRow()
  }
}

extension BlobRow {
  /// The row without damaged blocks, and how many they were; nil where nothing of the copy is of use.
  fileprivate func without(_ damage: [CacheDamage]) -> (row: BlobRow, dropped: Int)? {
    guard var left = blocks else { return nil }
    let geometry = BlockGeometry(size: metadata.revision.size)
    var dropped = 0
    for one in damage {
      guard case .bytes(let range) = one.kind else { return nil }
      if left.remove(geometry.block(at: range.lowerBound)) { dropped += 1 }
    }
    var row = self
    row.blocks = left
    row.bytes = geometry.bytes(in: left)
    return left.isEmpty ? nil : (row, dropped)
  }

  /// What of the file is not as the row says.
  fileprivate func damage(in blobs: String) -> [CacheDamage] {
    do throws(Errno) {
      let file = try File.open(SourceDirectory.blobPath(id, under: blobs), .read)
      let attributes = try file.attributes()
      let size = metadata.revision.size
      guard attributes.kind == .file, attributes.size == size else { return [damage(.wrongSize(attributes.size))] }
      return try blockDamage(file, BlockGeometry(size: size))
    } catch {
      return [damage(error == .noEntry ? .missing : .unreadable(error))]
    }
  }

  private func blockDamage(_ file: File, _ geometry: BlockGeometry) throws(Errno) -> [CacheDamage] {
    guard let blocks, blocks.isEmpty || digests.count == geometry.count else { return [damage(.row)] }
    var found: [CacheDamage] = []
    for block in 0..<geometry.count where blocks.contains(block) {
      let range = geometry.start(of: block)..<geometry.end(of: block)
      let bytes = try file.read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
      if stableHash(bytes) != digests[block] { found.append(damage(.bytes(range))) }
      // A verification should not push everything else out of memory.
      file.forgetPages(offset: range.lowerBound, length: range.upperBound - range.lowerBound)
    }
    return found
  }

  private func damage(_ kind: CacheDamage.Kind) -> CacheDamage { CacheDamage(key: key, kind: kind) }
}
