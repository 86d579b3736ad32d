// What an owner does to its own cache when it is asked: evict, collect garbage, and drop what is damaged.
import MirrorPlatform
public import MirrorStore
import Synchronization

/// Copies that were deleted, and those that could not be.
public struct CacheEviction: Equatable, Sendable {
  public var objects = 0
  public var bytes: Int64 = 0
  /// Keys of copies that something uses, as many as are worth naming.
  public var inUse: [ObjectKey] = []
  public init() {}
}

extension Cache {
  /// Deletes the copies of keys that begin with a prefix, but those that are pinned or in use.
  public func evict(under prefix: ObjectKey) async -> CacheEviction {
    await catalogue.ask(CacheEviction()) { $0.evict(under: prefix) }
  }

  /// Reads every block of a key's copies, as far as the catalogue knows them, and drops those that are not what was
  /// stored. The number dropped; a copy whose file is not there any more counts as one.
  public func recheck(_ key: ObjectKey) async -> Int {
    await catalogue.flush()
    let (copies, lost) = await catalogue.ask(([], 0)) { $0.copies(of: key) }
    guard !copies.isEmpty else { return lost }
    let dropped = await withCheckedContinuation { continuation in
      startThread("recheck") {
        continuation.resume(returning: copies.reduce(lost) { $0 + $1.blob.recheck($1.row) })
      }
    }
    // The row must not tell of them any more, or they would be found again.
    await catalogue.flush()
    return dropped
  }

  /// Takes away files that no row knows and superseded copies, and evicts the least recently used until the limits
  /// hold, as far as nothing uses them.
  public func collectGarbage(_ limits: CacheLimits) async -> CacheGarbage {
    var garbage = CacheGarbage()
    let blobs = directory + "/blobs"
    for name in (try? FileSystem.list(blobs)) ?? [] {
      let ids = ((try? FileSystem.list("\(blobs)/\(name)")) ?? []).compactMap { Int64($0) }
      let found = await catalogue.ask(CacheGarbage()) { $0.collect(ids, in: "\(blobs)/\(name)") }
      garbage.strayFiles += found.strayFiles
      garbage.superseded += found.superseded
      garbage.freedBytes += found.freedBytes
    }
    let root = FileSystem.parent(of: directory) ?? directory
    let evicted = await catalogue.ask(CacheEviction()) { $0.evict(until: limits, root: root) }
    garbage.evicted = evicted.objects
    garbage.freedBytes += evicted.bytes
    return garbage
  }
}

extension CatalogueSession {
  private static let named = 10_000

  func evict(under prefix: ObjectKey) -> CacheEviction {
    var eviction = CacheEviction()
    guard let rows = read({ (store) throws(SQLiteError) in try store.evictable(under: prefix) }) else {
      return eviction
    }
    for row in rows {
      if let blob = shelf.loaded(row.id), case .gone = blob.evict(lastUse: .max) {
        count(blob.id, blob.cachedBytes, &eviction)
      } else if shelf.loaded(row.id) == nil {
        count(row.id, row.bytes, &eviction)
      } else if eviction.inUse.count < Self.named {
        eviction.inUse.append(row.key)
      }
    }
    commit()
    return eviction
  }

  /// Until the limits hold, the least recently used first.
  func evict(until limits: CacheLimits, root: String) -> CacheEviction {
    var eviction = CacheEviction()
    guard limits != CacheLimits(),
      let rows = read({ (store) throws(SQLiteError) in try store.evictable(under: ObjectKey([])) })
    else { return eviction }
    for row in rows {
      let free = (try? FileSystem.space(root).free) ?? .max
      if shelf.budget.totals.charged <= limits.size ?? .max, free >= limits.minimumFree ?? 0 { break }
      if let blob = shelf.loaded(row.id) {
        if case .gone = blob.evict(lastUse: .max) { count(blob.id, blob.cachedBytes, &eviction) }
      } else {
        count(row.id, row.bytes, &eviction)
      }
    }
    commit()
    return eviction
  }

  private func count(_ id: Int64, _ bytes: Int64, _ eviction: inout CacheEviction) {
    deleteFile(id, bytes: bytes)
    write(.removeBlob(id))
    eviction.objects += 1
    eviction.bytes += bytes
  }

  /// The files of one directory that nobody knows, or that have another revision by now.
  func collect(_ ids: [Int64], in path: String) -> CacheGarbage {
    var garbage = CacheGarbage()
    guard !isClosed, store != nil else { return garbage }
    // Blobs of this life may not have their rows yet.
    for id in ids where id > 0 && id < shelf.firstID && shelf.loaded(id) == nil {
      let file = "\(path)/\(id)"
      guard SourceDirectory.blobPath(id, under: shelf.path) == file else { continue }
      let allocated = (try? FileSystem.attributes(file))?.allocated ?? 0
      switch read({ (store) throws(SQLiteError) in try store.rowState(id) }) {
      case nil, .current: continue
      case .some(.none):
        shelf.removeFile(id)
        garbage.strayFiles += 1
      case .superseded(let bytes):
        deleteFile(id, bytes: bytes)
        write(.removeBlob(id))
        garbage.superseded += 1
      }
      garbage.freedBytes += allocated
    }
    return garbage
  }

  /// The copies of a key, each with what its row says; those without a usable file are dropped, and counted.
  fileprivate func copies(of key: ObjectKey) -> (copies: [BlobCopy], lost: Int) {
    let rows = read { (store) throws(SQLiteError) in try store.blobRows(key) } ?? []
    let copies = rows.compactMap { row in (shelf.loaded(row.id) ?? open(row)).map { BlobCopy(row: row, blob: $0) } }
    return (copies, rows.count - copies.count)
  }
}

private struct BlobCopy: Sendable {
  let row: BlobRow
  let blob: Blob
}

extension Blob {
  /// Checks the blocks that the row knows; those that were dropped.
  fileprivate func recheck(_ row: BlobRow) -> Int {
    guard let blocks = row.blocks, row.digests.count == geometry.count else { return 0 }
    var dropped = 0
    for block in 0..<geometry.count where blocks.contains(block) {
      let range = geometry.start(of: block)..<geometry.end(of: block)
      let bytes = try? file().read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
      guard let bytes,
        Int64(bytes.count) < range.upperBound - range.lowerBound || stableHash(bytes) != row.digests[block]
      else { continue }
      // A copy that was just opened may have noticed it by itself.
      drop(block, digests: row.digests)
      dropped += 1
    }
    return dropped
  }

  /// A block is not what was stored: it is as if it had never come.
  private func drop(_ block: Int, digests: [UInt64]) {
    let change = state.withLock { state -> Change? in
      guard !state.isGone else { return nil }
      let before = state.bytes
      if state.digests.isEmpty { state.digests = digests }
      guard state.drop(block) else { return nil }
      updateReady(state)
      return Change(from: before, to: state.bytes, isRetained: state.retains > 0)
    }
    guard let change else { return }
    count(change)
    shelf.log.warning("\(key): a block of its copy is damaged and dropped")
    saveSoon()
  }
}

extension CatalogueStore {
  fileprivate struct Evictable {
    let id: Int64
    let bytes: Int64
    let key: ObjectKey
  }

  /// What is not pinned, the least recently used first.
  fileprivate func evictable(under prefix: ObjectKey) throws(SQLiteError) -> [Evictable] {
    let query = try connection.prepare(
      """
      SELECT id, bytes, CAST(parent || name AS BLOB) AS k FROM blobs
      WHERE pinned = 0 AND k >= ?1 AND (?2 IS NULL OR k < ?2) ORDER BY used
      """)
    bindRange(query, prefix)
    var found: [Evictable] = []
    while try query.step() {
      found.append(Evictable(id: query.int(0), bytes: query.int(1), key: ObjectKey(query.bytes(2))))
    }
    return found
  }
}
