// Which copies go when room is needed: the least recently used that nothing holds, whole, one by one.
import MirrorPlatform
import MirrorStore
import Synchronization

extension CatalogueSession {
  /// So many keys of copies in use are named at most.
  private static let named = 64

  /// Frees and promises room; when that fails, names the least recently used copies that something retains.
  func makeRoom(_ bytes: Int64) -> (made: Bool, inUseCandidates: [ObjectKey]) {
    if shelf.budget.reserve(bytes) { return (true, []) }
    // Nothing is thrown away for a wish that can't be granted.
    guard bytes + shelf.budget.reserved <= shelf.budget.limit else { return (false, inUse()) }
    // What is moved behind this point was looked at.
    let end = shelf.nextUse()
    var looked: Set<Int64> = []
    while let candidates = read({ (store) throws(SQLiteError) in try store.oldestBlobs() }) {
      // Where the disk takes no changes the same rows come again.
      let new = candidates.filter { looked.insert($0.id).inserted }
      if new.isEmpty { break }
      for candidate in new where !removed.contains(candidate.id) {
        guard candidate.used <= end else { return (false, inUse()) }
        evict(candidate)
        if shelf.budget.reserve(bytes) { return (true, []) }
      }
    }
    return (false, inUse())
  }

  private func evict(_ candidate: CatalogueStore.EvictionCandidate) {
    guard let blob = shelf.loaded(candidate.id) else { return remove(candidate.id, bytes: candidate.bytes) }
    switch blob.evict(lastUse: candidate.used) {
    case .gone: remove(blob.id, bytes: blob.cachedBytes)
    case .inUse: move(blob, to: shelf.nextUse())
    case .usedSince(let use): move(blob, to: use)
    }
  }

  private func remove(_ id: Int64, bytes: Int64) {
    deleteFile(id, bytes: bytes)
    write(.removeBlob(id))
  }

  private func move(_ blob: Blob, to use: Int64) {
    blob.rowWasMoved(to: use)
    write(.used(blob.id, use))
  }

  /// The keys of retained copies, the least recently used first.
  private func inUse() -> [ObjectKey] {
    let retained = shelf.allLoaded.lazy.filter(\.isRetained)
      .map { (use: $0.lastUse.load(ordering: .relaxed), key: $0.key) }
    var oldest: [(use: Int64, key: ObjectKey)] = []
    for blob in retained {
      if oldest.count == Self.named, let last = oldest.last, last.use <= blob.use { continue }
      let place = oldest.firstIndex { $0.use > blob.use } ?? oldest.count
      oldest.insert(blob, at: place)
      if oldest.count > Self.named { oldest.removeLast() }
    }
    return oldest.map(\.key)
  }
}
