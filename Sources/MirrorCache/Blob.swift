// The copy of one revision: one file, filled block by block, never overwritten, removed only whole.
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// A revision's bytes on disk, as far as they are here. Safe to share.
public final class Blob: Sendable {
  /// The unit of presence and of digests, bytes: a first look's worth, so that small random reads persist.
  public static let blockSize: Int64 = 128 << 10
  /// Larger objects are read past the cache, bytes: nobody has them (S3's largest is 50 TB), and whoever tells of one
  /// would have a bitmap of its blocks made.
  static let largest: Int64 = 1 << 46
  /// Blobs up to this size are checked at once when they are opened; larger ones block by block.
  static let checkedWhole = 8 * blockSize
  /// Larger ones are synchronised before their row tells what is there.
  static let synchronised: Int64 = 8 << 20
  /// How often the row of a blob that is being written is brought up to date.
  private static let saveInterval: Duration = .seconds(5)

  public let id: Int64
  public let key: ObjectKey
  /// Revision, content type, storage class and version id; the rest is not kept.
  public let metadata: ObjectMetadata
  let shelf: BlobShelf
  let geometry: BlockGeometry
  let state: Mutex<BlobState>
  /// All there and trusted: then no lock is needed to read.
  let isReady: Atomic<Bool>
  let lastUse: Atomic<Int64>

  /// A blob whose file was just made.
  init(new id: Int64, _ key: ObjectKey, _ metadata: ObjectMetadata, shelf: BlobShelf) {
    self.id = id
    self.key = key
    self.metadata = metadata
    self.shelf = shelf
    geometry = BlockGeometry(size: metadata.revision.size)
    let use = shelf.nextUse()
    let now = shelf.clock.now()
    state = Mutex(
      BlobState(
        geometry: geometry, blocks: BlockMap(count: geometry.count), digests: [], handedOut: now, isUnsaved: true,
        savedUse: use, savedAt: now, era: shelf.era))
    isReady = Atomic(geometry.count == 0)
    lastUse = Atomic(use)
  }

  /// A blob from its row; unless it is trusted, its blocks count once their digests agree.
  init(_ row: BlobRow, blocks: BlockMap, isTrusted: Bool, shelf: BlobShelf) {
    id = row.id
    key = row.key
    metadata = row.metadata
    self.shelf = shelf
    geometry = BlockGeometry(size: row.metadata.revision.size)
    let digests = row.digests.count == geometry.count && !(isTrusted && blocks.isFull) ? row.digests : []
    let known = BlobState(
      geometry: geometry, blocks: blocks, unverified: isTrusted || blocks.isEmpty ? nil : blocks, digests: digests,
      isUnsaved: false, savedUse: row.used, savedAt: shelf.clock.now(), era: row.era)
    state = Mutex(known)
    isReady = Atomic(blocks.isFull && known.unverified == nil)
    lastUse = Atomic(row.used)
  }

  public var revision: ObjectRevision { metadata.revision }
  /// Every block is here, and proven (some of them perhaps yet to be checked).
  public var isComplete: Bool { isReady.load(ordering: .acquiring) || state.withLock { $0.isFull } }
  /// Every block is here and none needs a check: the file is the revision.
  public var isWhole: Bool { isReady.load(ordering: .acquiring) }
  /// Bytes of the blocks that are here.
  public var cachedBytes: Int64 {
    isReady.load(ordering: .acquiring) ? geometry.size : state.withLock { $0.bytes }
  }
  /// Evicted or retired: no new descriptor can be had.
  public var isGone: Bool { state.withLock { $0.isGone } }

  /// Every byte of the range is here, in present blocks or already received by a writer that is still running, and none
  /// is yet to be proven.
  ///
  /// After an unclean end this reads and checks the blocks of the range first.
  public func isReadable(_ range: Range<Int64>) -> Bool {
    if isReady.load(ordering: .acquiring) { return range.lowerBound >= 0 && range.upperBound <= geometry.size }
    while true {
      switch state.withLock({ $0.readable(range) }) {
      case .yes: return true
      case .no: return false
      case .unless(let block): if !check(block) { return false }
      }
    }
  }

  /// The first run of absent blocks at or after `offset`, not counting those that a running writer will bring; at most
  /// `limit` bytes, but a block at least. Nil when nothing is missing.
  ///
  /// After an unclean end the blocks within `limit` of `offset` are checked first; later ones when they are asked for.
  public func missing(from offset: Int64, limit: Int64) -> Range<Int64>? {
    if isReady.load(ordering: .acquiring) { return nil }
    let last = min(geometry.size, max(0, offset) + max(1, min(limit, geometry.size)))
    let near =
      geometry.block(at: max(0, offset))..<max(geometry.block(at: max(0, offset)), geometry.block(at: last - 1) + 1)
    while let block = state.withLock({ $0.firstUnverified(in: near) }) {
      if !check(block) && state.withLock({ $0.firstUnverified(in: near) }) == block { break }
    }
    return state.withLock { $0.missing(from: offset, limit: limit) }
  }

  /// The open file, through a pool of few descriptors.
  ///
  /// - Throws: open(2)'s error when it has to be opened again: ENOENT once the blob or the cache is gone.
  public func file() throws(Errno) -> File { try shelf.file(id) }

  /// Begins a run of bytes at a block boundary. Several may run at once, each on one thread at a time.
  public func writer(at start: Int64, upTo end: Int64) -> BlobWriter {
    let run = BlobRun(start: start, end: min(end, geometry.size))
    state.withLock { $0.runs.append(run) }
    return BlobWriter(self, run)
  }

  // MARK: For writers

  func holds(_ block: Int) -> Bool { state.withLock { $0.holds(block) } }

  /// A whole block is in the file; false when it was there already.
  func store(_ block: Int, digest: UInt64) -> Bool {
    let now = shelf.clock.now()
    let change = state.withLock { state -> (Change, save: Bool)? in
      let before = state.bytes
      guard state.store(block, digest: digest) else { return nil }
      updateReady(state)
      let save = !state.isQueued && now - state.savedAt >= Self.saveInterval
      if save { state.isQueued = true }
      return (Change(from: before, to: state.bytes, isRetained: state.retains > 0), save)
    }
    guard let change else { return false }
    count(change.0)
    if change.save { shelf.save(self) }
    return true
  }

  /// What became of the bytes that are here.
  struct Change {
    let from: Int64
    let to: Int64
    let isRetained: Bool
  }

  func count(_ change: Change) {
    shelf.budget.change(from: change.from, to: change.to)
    if change.isRetained { shelf.budget.retain(objects: 0, from: change.from, to: change.to) }
  }

  /// A run is over.
  func end(_ run: BlobRun) {
    let (save, discard) = state.withLock { state -> (Bool, Bool) in
      state.runs.removeAll { $0 === run }
      let save = state.isUnsaved && !state.isQueued && !state.isGone
      if save { state.isQueued = true }
      return (save, state.isRetired && state.retains == 0 && state.runs.isEmpty)
    }
    if save { shelf.save(self) }
    if discard { shelf.thread.post(.discard(self), within: CatalogueSession.patience) }
  }

  func updateReady(_ state: borrowing BlobState) {
    isReady.store(state.isFull && state.unverified == nil, ordering: .releasing)
  }
}
