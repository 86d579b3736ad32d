// What all blobs of a cache share: their directory, their open files, their room, and the threads that keep their rows.
import MirrorPlatform
import MirrorStore
import Synchronization

/// The blobs in memory and the way to those on disk.
final class BlobShelf: Sendable {
  private struct Loaded {
    weak let blob: Blob?
  }

  let path: String
  let pool = DescriptorPool()
  let budget: Budget
  let seed: Seed?
  let clock: any Clock
  let log: Log
  /// Rows of this era need no check.
  let era: Int64
  let firstID: Int64
  /// The catalogue's thread.
  let thread = BatchThread<CatalogueItem>()
  /// Waits for disks to write, so that the catalogue need not.
  let syncer = WorkQueue(name: "cache-sync", threads: 1)
  /// Rows told of bytes since `synchronizeAll`: the disk may not have them yet.
  let hasUnsafeRows = Atomic(false)
  private let synchronize: @Sendable (String) -> Bool
  private let nextID: Atomic<Int64>
  private let lastUse: Atomic<Int64>
  private let loadedBlobs = Mutex<(blobs: [Int64: Loaded], sweepAt: Int)>(([:], 1024))
  /// Copies whose first row is not written yet, the last one made of each key.
  private let unwritten = Mutex<[ObjectKey: Loaded]>([:])

  init(
    path: String, _ opened: OpenCatalogue, budget: Budget, seed: Seed?, clock: any Clock, log: Log,
    synchronize: @escaping @Sendable (String) -> Bool
  ) {
    self.path = path
    self.synchronize = synchronize
    self.seed = seed
    self.budget = budget
    self.clock = clock
    self.log = log
    era = opened.era
    firstID = opened.firstID
    nextID = Atomic(opened.firstID)
    lastUse = Atomic(opened.lastUsed)
  }

  func newID() -> Int64 { nextID.add(1, ordering: .relaxed).oldValue }

  /// Later than every use before, and the wall clock's milliseconds where that runs ahead.
  func nextUse() -> Int64 {
    let wall = clock.wall().milliseconds
    var last = lastUse.load(ordering: .relaxed)
    while true {
      let next = max(last + 1, wall)
      let (exchanged, original) = lastUse.weakCompareExchange(expected: last, desired: next, ordering: .relaxed)
      if exchanged { return next }
      last = original
    }
  }

  // MARK: Files

  /// Makes the file of a new blob, as long as the object and without a byte in it.
  func createFile(_ id: Int64, size: Int64) throws(Errno) {
    guard size <= Blob.largest else { throw .tooLarge }
    let path = SourceDirectory.blobPath(id, under: self.path)
    let file: File
    do throws(Errno) {
      file = try File.open(path, .readWrite, create: 0o600)
    } catch {
      switch error {
      case .noEntry:
        guard let directory = FileSystem.parent(of: path) else { throw error }
        try FileSystem.makeDirectory(directory)
        try FileSystem.setPermissions(directory, 0o700)
      // Ids are new: what lies there was left by a process that ended before it wrote the row.
      case .exists: try FileSystem.removeFile(path)
      default: throw error
      }
      file = try File.open(path, .readWrite, create: 0o600)
    }
    if size > 0 { try file.resize(to: size) }
    _ = pool.insert(file, id)
  }

  func file(_ id: Int64) throws(Errno) -> File {
    if let file = pool.file(id) { return file }
    return pool.insert(try File.open(SourceDirectory.blobPath(id, under: path), .readWrite), id)
  }

  func removeFile(_ id: Int64) {
    let path = SourceDirectory.blobPath(id, under: path)
    do throws(Errno) { try FileSystem.removeFile(path) } catch {
      if error == .isDirectory, (try? FileSystem.removeTree(path)) != nil { return }
      log.limited(.warning, key: "blob removal", "\(path): can't be deleted: \(error)")
    }
  }

  // MARK: Blobs in memory

  func add(_ blob: Blob) {
    loadedBlobs.withLock { state in
      state.blobs[blob.id] = Loaded(blob: blob)
      guard state.blobs.count >= state.sweepAt else { return }
      state.blobs = state.blobs.filter { $0.value.blob != nil }
      state.sweepAt = max(1024, state.blobs.count * 2)
    }
  }

  /// Until its row is written a new copy is found by this alone: of a large one that takes until the disk has its bytes.
  func addUnwritten(_ blob: Blob) {
    unwritten.withLock { blobs in
      // Those that went before they had a row.
      if blobs.count >= 1024, blobs.count.nonzeroBitCount == 1 { blobs = blobs.filter { $0.value.blob != nil } }
      blobs[blob.key] = Loaded(blob: blob)
    }
  }
  func unwritten(_ key: ObjectKey) -> Blob? { unwritten.withLock { $0[key]?.blob } }
  func noteWritten(_ blob: Blob) {
    unwritten.withLock { if $0[blob.key]?.blob === blob { $0[blob.key] = nil } }
  }

  func loaded(_ id: Int64) -> Blob? { loadedBlobs.withLock { $0.blobs[id]?.blob } }
  var allLoaded: [Blob] { loadedBlobs.withLock { $0.blobs.values.compactMap(\.blob) } }

  // MARK: Rows

  /// Has the blob's row written soon. Large ones are on disk before their row says so.
  func save(_ blob: Blob, within delay: Duration = CatalogueSession.patience) {
    guard blob.needsSync else {
      thread.post(.save(blob), within: delay)
      return
    }
    syncer.submit { [thread] in
      guard let change = blob.takeUnsaved() else { return }
      // Where it fails, the digests still tell what arrived.
      if case .row = change { try? blob.file().synchronize() }
      thread.post(.write(change), within: delay)
    }
  }

  /// Has all rows handed over for writing, those of blobs that are still being written too.
  func saveAll() async {
    for blob in allLoaded where blob.hasUnsaved { save(blob, within: .zero) }
    await withCheckedContinuation { continuation in syncer.submit { continuation.resume() } }
  }

  /// Has the disk write all bytes that rows tell of; false where it did not, or more have come meanwhile.
  func synchronizeAll() async -> Bool {
    guard hasUnsafeRows.exchange(false, ordering: .acquiringAndReleasing) else { return true }
    let isWritten = await withCheckedContinuation { continuation in
      syncer.submit { [path, synchronize] in continuation.resume(returning: synchronize(path)) }
    }
    if !isWritten { log.warning("\(path): can't be synchronised; copies are checked at the next start") }
    return isWritten && !hasUnsafeRows.load(ordering: .acquiring)
  }
}
