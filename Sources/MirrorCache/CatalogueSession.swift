// The catalogue's thread at work: changes go into transactions, questions are answered between them.
import MirrorPlatform
import MirrorStore

/// A change of the tables, kept until its transaction is on disk.
enum CatalogueWrite: Sendable {
  case change(CatalogueChange)
  /// Apart, since it is large, and listings bring others by the ten thousands.
  indirect case row(Blob, BlobRow)
  case used(Int64, Int64)
  case removeBlob(Int64)
  case swept
  case ledger(LedgerEntries)
  case prices(Prices)
  case pin(ObjectKey, Bool)
  case lack(ServerLack, WallTime?)
}

/// What is handed to the catalogue's thread.
enum CatalogueItem: Sendable {
  case write(CatalogueWrite)
  /// Write what the blob has that its row lacks.
  case save(Blob)
  /// Delete the blob if nothing keeps it.
  case discard(Blob)
  case job(@Sendable (CatalogueSession) -> Void)
}

/// Owns the open catalogue. Writes are kept until COMMIT has succeeded, and are made again when it has not.
///
/// Sendable because after `init` only the catalogue's thread uses it.
final class CatalogueSession: @unchecked Sendable {
  let shelf: BlobShelf
  /// Nil once closed, and where no catalogue can be had.
  private(set) var store: CatalogueStore?
  private(set) var isClosed = false
  private let path: String
  private var uncommitted: [CatalogueWrite] = []
  /// Blobs whose removal is not on disk yet, so that a second attempt does not count them twice.
  var removed: Set<Int64> = []
  /// After a failure: when to try again; nil while all is well.
  private var retryAt: Instant?
  private var pause: Duration = .seconds(1)
  /// When the open transaction began.
  private var begunAt: Instant?
  /// Counts the catalogues of this session.
  private var generation = 0
  /// Steady time in real seconds, whatever clock the cache was given: a disk does not wait for a test.
  private let clock = SystemClock()

  /// Beyond this many writes that no disk takes, the oldest are let go: they cost requests, never truth.
  private static let backlog = 200_000
  /// Changes of one transaction.
  private static let atOnce = 1000
  /// How long a change may wait in memory.
  static let patience: Duration = .seconds(1)

  init(_ store: CatalogueStore, path: String, shelf: BlobShelf) {
    self.store = store
    self.path = path
    self.shelf = shelf
  }

  private var log: Log { shelf.log }
  /// The tables lack changes that were made: the disk takes none, or there are no tables.
  var isBehind: Bool { retryAt != nil || store == nil }

  /// Takes a batch; answers when to come back.
  func process(_ batch: [CatalogueItem]) -> Duration? {
    if let retryAt, clock.now() >= retryAt { retry() }
    for item in batch {
      switch item {
      case .write(let change): write(change)
      case .save(let blob): save(blob)
      case .discard(let blob): discard(blob)
      case .job(let job): job(self)
      }
      if uncommitted.count >= Self.atOnce { commit() }
    }
    return delay()
  }

  /// Commits what has waited long enough; until when the rest may wait.
  private func delay() -> Duration? {
    if let begunAt, clock.now() - begunAt >= Self.patience { commit() }
    if let retryAt { return max(.milliseconds(10), retryAt - clock.now()) }
    return begunAt.map { max(.milliseconds(1), Self.patience - (clock.now() - $0)) }
  }

  /// Makes a change now, and keeps it until it is on disk.
  func write(_ change: CatalogueWrite) {
    guard store != nil else { return }
    uncommitted.append(change)
    if begunAt == nil { begunAt = clock.now() }
    if retryAt == nil { apply(change) }
    if uncommitted.count > Self.backlog {
      uncommitted.removeFirst(Self.backlog / 4)
      log.limited(.warning, key: "catalogue backlog", "\(path): changes are lost, the disk has taken none for too long")
    }
  }

  /// Writes what is pending; false when the disk does not take it.
  @discardableResult
  func commit() -> Bool {
    guard let store, retryAt == nil else { return false }
    do throws(SQLiteError) {
      if store.connection.isInTransaction { try store.connection.execute("COMMIT") }
    } catch {
      fail(error)
      return false
    }
    uncommitted.removeAll(keepingCapacity: uncommitted.count <= 2 * Self.atOnce)
    removed.removeAll()
    begunAt = nil
    pause = .seconds(1)
    return true
  }

  /// Tries again what has failed, whether or not its time has come.
  func retry() {
    guard retryAt != nil else { return }
    replay()
    commit()
  }

  /// Makes all changes again that are not on disk.
  private func replay() {
    retryAt = nil
    let current = generation
    for change in uncommitted where retryAt == nil && generation == current { apply(change) }
  }

  /// Asks the tables; nil when they can't answer.
  func read<Answer>(_ question: (CatalogueStore) throws(SQLiteError) -> Answer) -> Answer? {
    guard let store else { return nil }
    do throws(SQLiteError) { return try question(store) } catch {
      log.limited(.warning, key: "catalogue read", "\(path): \(error)")
      if error.isDamage { beginAnew(because: error) }
      return nil
    }
  }

  /// The last act: everything is written, and marked as complete where it is and the copies are on disk (`isSafe`).
  func close(clean: Bool, isSafe: Bool = true) {
    isClosed = true
    if clean, let store {
      retry()
      if commit(), isSafe {
        do throws(SQLiteError) {
          try store.connection.execute("BEGIN")
          try store.setTotals(shelf.budget.totals)
          try store.setMeta(.clean, 1)
          try store.connection.execute("COMMIT")
        } catch { log.warning("\(path): not closed cleanly: \(error)") }
      }
    }
    uncommitted = []
    self.store = nil
  }

  private func apply(_ change: CatalogueWrite) {
    guard let store else { return }
    do throws(SQLiteError) {
      if !store.connection.isInTransaction { try store.connection.execute("BEGIN") }
      try perform(change, on: store)
    } catch {
      if error.isOurs {
        log.limited(.error, key: "catalogue refuses", "\(path): a change is refused: \(error)")
      } else {
        fail(error)
      }
    }
  }

  private func perform(_ change: CatalogueWrite, on store: CatalogueStore) throws(SQLiteError) {
    switch change {
    case .change(let change): try learn(change, store)
    case .row(let blob, let row):
      if !blob.isGone { try store.put(row) }
      shelf.noteWritten(blob)
    case .used(let id, let time): try store.use(id, time)
    case .removeBlob(let id): try store.removeBlob(id)
    case .swept: try store.setMeta(.swept, shelf.era)
    case .ledger(let entries): try store.add(entries)
    case .prices(let prices): try store.put(prices)
    case .pin(let prefix, let isPinned): try store.pin(prefix, isPinned)
    case .lack(let lack, let met): try store.put(lack, met)
    }
  }

  private func fail(_ error: SQLiteError) {
    if error.isDamage { return beginAnew(because: error) }
    if let store, store.connection.isInTransaction { try? store.connection.execute("ROLLBACK") }
    begunAt = nil
    retryAt = clock.now() + pause
    pause = min(pause * 2, .seconds(30))
    log.limited(.warning, key: "catalogue write", "\(path): can't be written, will try again: \(error)")
  }

  /// The tables turned out damaged: new ones, filled with what memory knows. Other blobs' files are swept.
  private func beginAnew(because error: SQLiteError) {
    store = nil
    begunAt = nil
    generation += 1
    // A disk that damages each new file as well is no place for a catalogue.
    guard generation <= 3, OpenCatalogue.setAside(path, because: "\(error)", clock: shelf.clock, log: log) else {
      uncommitted = []
      return log.error("\(path): goes on without a catalogue")
    }
    do throws(CacheError) {
      store = try OpenCatalogue.open(path, clock: shelf.clock, log: log).store
    } catch { return log.error("\(path): goes on without a catalogue: \(error)") }
    removed.removeAll()
    var totals = Budget.Totals()
    for blob in shelf.allLoaded where !blob.isGone {
      totals.objects += 1
      totals.bytes += blob.cachedBytes
      totals.charged += diskBytes(blob.cachedBytes)
      blob.markUnsaved()
      if let change = blob.takeUnsaved() { uncommitted.append(change) }
    }
    shelf.budget.replace(totals)
    replay()
  }
}
