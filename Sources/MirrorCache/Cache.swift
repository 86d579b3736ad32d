// One source's cache, open: copies handed out, room kept, and the lock that says whose it is.
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// A cached source. One process owns it, from `open` to `close`.
public final class Cache: Sendable {
  public let catalogue: Catalogue
  /// `<root>/<name>`
  public let directory: String
  /// What all keys begin with.
  let prefix: ObjectKey
  let shelf: BlobShelf
  private let lock: Mutex<File?>

  private init(_ directory: SourceDirectory, _ prefix: ObjectKey, _ shelf: BlobShelf, isNew: Bool, lock: File) {
    self.directory = directory.path
    self.prefix = prefix
    self.shelf = shelf
    self.lock = Mutex(lock)
    catalogue = Catalogue(shelf, isNew: isNew)
  }

  deinit { shelf.thread.end() }

  /// Opens a source's cache and makes what is missing: directories of mode 0700, files of mode 0600.
  ///
  /// A damaged catalogue is set aside and a new one begun.
  /// - Throws: `.locked` while another process owns it, `.newerVersion`, `.noSpace`, `.unusable` for links, foreign
  ///   directories and whatever the system refuses.
  public static func open(
    _ configuration: CacheConfiguration, clock: any Clock, log: Log
  ) throws(CacheError) -> Cache {
    let root = configuration.root
    return try open(configuration, clock: clock, log: log, free: { try? FileSystem.space(root).free })
  }

  /// The same, with the disk's free space and whether it has written what it was given as somebody else tells them.
  package static func open(
    _ configuration: CacheConfiguration, clock: any Clock, log: Log, free: @escaping @Sendable () -> Int64?,
    synchronize: @escaping @Sendable (String) -> Bool = Cache.synchronize
  ) throws(CacheError) -> Cache {
    let directory = try SourceDirectory.prepare(configuration, log: log)
    let lock = try directory.lock()
    try directory.sign(SourceIdentity(configuration))
    let opened = try OpenCatalogue.open(directory.catalogue, clock: clock, log: log)
    if opened.wasUnclean { log.notice("\(directory.path): not closed cleanly; copies are checked as they are used") }
    let budget = Budget(
      opened.totals, limit: configuration.limit, minimumFree: configuration.minimumFree, free: free)
    let shelf = BlobShelf(
      path: directory.blobs, opened, budget: budget, seed: configuration.seed, clock: clock, log: log,
      synchronize: synchronize)
    let session = CatalogueSession(opened.store, path: directory.catalogue, shelf: shelf)
    shelf.thread.start("catalogue", background: true) { session.process($0) }
    Sweep(shelf: shelf, isUnswept: opened.isUnswept).start()
    // The limit may be lower than last time.
    shelf.thread.post(.job { _ = $0.makeRoom(0) })
    // What a seed is about to tell it is in the catalogue only.
    let isNew = opened.wasEmpty && configuration.seed == nil
    return Cache(directory, configuration.prefix, shelf, isNew: isNew, lock: lock)
  }

  /// The copy of this revision, if there is one. Its file exists and has the right size; after an unclean end, or when
  /// something else wrote the file, its blocks count once their digests agree.
  ///
  /// It is safe from eviction until it was retained and released, or for half a minute.
  public func blob(_ key: ObjectKey, _ revision: ObjectRevision) async -> Blob? {
    await catalogue.ask(nil) { $0.blob(key, revision) { $0.handOut() } }
  }

  /// The same only to be looked at: it may go at any time, and one that was retired goes nevertheless.
  public func find(_ key: ObjectKey, _ revision: ObjectRevision) async -> Blob? {
    await catalogue.ask(nil) { $0.blob(key, revision) { !$0.isGone && !$0.isDamaged } }
  }

  /// A new empty copy of a revision, at once. Safe from eviction as one from `blob` is.
  public func makeBlob(_ key: ObjectKey, _ metadata: ObjectMetadata) throws(CacheError) -> Blob {
    let id = shelf.newID()
    do throws(Errno) {
      try shelf.createFile(id, size: metadata.revision.size)
    } catch { throw CacheError(error, path: shelf.path, doing: "make a file for a copy") }
    let blob = Blob(new: id, key, metadata, shelf: shelf)
    shelf.budget.addObject()
    shelf.add(blob)
    shelf.addUnwritten(blob)
    shelf.thread.post(.save(blob), within: CatalogueSession.patience)
    return blob
  }

  /// Promises room for so many more bytes, if it is free now.
  ///
  /// What a writer stores is taken from the promises as its blocks fill. Give back only what was not stored, e.g.
  /// `giveBack(reserved - writer.finish())`.
  public func reserve(_ bytes: Int64) -> Bool { shelf.budget.reserve(bytes) }

  /// Takes back a promise, or a part of it.
  public func giveBack(_ bytes: Int64) { shelf.budget.giveBack(bytes) }

  /// As `reserve`, whose promise it makes too when `made`, but evicts least recently used copies that are neither
  /// retained nor pinned nor being written. When that is not enough, `inUseCandidates` are keys of the least recently
  /// used retained ones.
  public func makeRoom(_ bytes: Int64) async -> (made: Bool, inUseCandidates: [ObjectKey]) {
    await catalogue.ask((made: false, inUseCandidates: [])) { $0.makeRoom(bytes) }
  }

  /// Other limits from now on, bytes; what goes beyond them is evicted as far as it is not in use.
  public func setLimits(_ limit: Int64, minimumFree: Int64) {
    shelf.budget.set(limit: limit, minimumFree: minimumFree)
    shelf.thread.post(.job { _ = $0.makeRoom(0) })
  }

  /// The blob's revision is superseded, gone or unreadable: row and file are deleted once nothing retains or writes it.
  public func retire(_ blob: Blob) {
    shelf.thread.post(.job { $0.retire(blob) }, within: .milliseconds(50))
  }

  /// Bytes in it turned out not to be the object's: retired, and never handed out again, whoever else writes it.
  public func discardDamaged(_ blob: Blob) {
    blob.condemn()
    retire(blob)
  }

  /// Exempts the copies of all keys that begin with a prefix from eviction, those made later too, or takes away the
  /// pins that begin with it: a broader one stays.
  public func pin(_ prefix: ObjectKey, _ isPinned: Bool) async {
    await catalogue.ask(()) { $0.write(.pin(prefix, isPinned)) }
  }

  /// The pinned prefixes, in order.
  public func pins() async -> [ObjectKey] {
    await catalogue.ask([]) { session in session.read { (store) throws(SQLiteError) in try store.pins() } ?? [] }
  }

  public func usage() -> CacheUsage {
    let retained = shelf.budget.retained
    let totals = shelf.budget.totals
    return CacheUsage(
      bytes: totals.bytes, diskBytes: totals.charged, reserved: shelf.budget.reserved, objects: totals.objects,
      limit: shelf.budget.limit, retained: retained.objects, retainedBytes: retained.charged)
  }

  /// Writes what is pending, marks the clean end, and gives up the lock. Blobs may still be read, no longer kept.
  ///
  /// A clean end says that the copies need no check, so all their bytes are on disk before it is told, whatever the
  /// power does a moment later.
  public func close() async {
    await catalogue.flush()
    let isSafe = await shelf.synchronizeAll()
    await catalogue.ask(()) { session in
      session.discardRetired()
      session.close(clean: true, isSafe: isSafe)
    }
    end()
  }

  /// syncfs(2) for the file system of a directory; false where it failed.
  package static func synchronize(_ path: String) -> Bool {
    do throws(Errno) { try File.open(path, .read).synchronizeFileSystem() } catch { return false }
    return true
  }

  /// Ends as a killed process does: nothing is written any more, and the lock is free.
  package func abandon() async {
    await catalogue.ask(()) { $0.close(clean: false) }
    end()
  }

  /// Closes what no reader holds.
  package func forgetDescriptors() { shelf.pool.removeAll() }

  private func end() {
    shelf.thread.end()
    shelf.pool.removeAll()
    lock.withLock { $0 = nil }
  }
}
