// What is known of the bucket, on disk: asked by key or directory, told in passing, written behind.
import MirrorPlatform
public import MirrorStore

/// The durable memory of a source. Answers see all that was recorded before the question (except while the disk takes
/// no writes: then they see what it last took).
public final class Catalogue: Sendable {
  private let shelf: BlobShelf
  var thread: BatchThread<CatalogueItem> { shelf.thread }

  /// Nothing was known when it was opened: it holds what this process recorded and no more.
  public let isNew: Bool

  init(_ shelf: BlobShelf, isNew: Bool) {
    self.shelf = shelf
    self.isNew = isNew
  }

  /// Takes note of a change, which is on disk within a second or two. Never waits.
  public func record(_ change: CatalogueChange) {
    thread.post(.write(.change(change)), within: CatalogueSession.patience)
  }

  /// The same for several, in this order.
  public func record(_ changes: [CatalogueChange]) {
    guard !changes.isEmpty else { return }
    thread.post(changes.lazy.map { .write(.change($0)) }, within: CatalogueSession.patience)
  }

  /// A key as last known; nil if never heard of.
  public func object(_ key: ObjectKey) async -> CatalogueObject? {
    await ask(nil) { session in
      let found = session.read { (store) throws(SQLiteError) in try store.object(key) } ?? nil
      return found.map { session.shelf.seeded($0) }
    }
  }

  /// A directory (`""` or `a/b/`) as last known, with its children; nil if never heard of.
  public func directory(_ key: ObjectKey) async -> CatalogueDirectory? {
    await ask(nil) { session in
      let found = session.read { (store) throws(SQLiteError) in try store.directory(key) } ?? nil
      guard let found, session.shelf.seed != nil else { return found }
      return CatalogueDirectory(
        listed: found.listed, objects: found.objects.map { session.shelf.seeded($0) }, directories: found.directories,
        absences: found.absences)
    }
  }

  /// Whether any object ever said something of owner, mode or time.
  public func hasDescriptions() async -> Bool {
    await ask(false) { session in
      session.read { (store) throws(SQLiteError) in try store.meta(.described) == 1 } ?? false
    }
  }

  /// Returns when all that was recorded, and every block that was stored, is in the catalogue's file, or when the disk
  /// has refused it.
  public func flush() async {
    await shelf.saveAll()
    await ask(()) { session in
      session.retry()
      session.commit()
    }
  }

  /// Adds requests to those that are there; they are on disk a second later.
  public func saveLedger(_ entries: LedgerEntries) {
    guard !entries.isEmpty else { return }
    thread.post(.write(.ledger(entries)), within: CatalogueSession.patience)
  }

  /// The requests of these UTC days (since 1970).
  public func ledger(days: ClosedRange<Int64> = .allDays) async -> LedgerEntries {
    await ask([:]) { session in
      session.read { (store) throws(SQLiteError) in try store.ledger(days) } ?? [:]
    }
  }

  /// Keeps the prices for those who look into the cache while nothing is mounted.
  public func savePrices(_ prices: Prices) {
    thread.post(.write(.prices(prices)), within: CatalogueSession.patience)
  }

  /// Puts a question to the catalogue's thread; `fallback` once it is closed.
  func ask<Answer: Sendable>(
    _ fallback: Answer, _ question: @escaping @Sendable (CatalogueSession) -> Answer
  ) async -> Answer {
    await withCheckedContinuation { continuation in
      let isPosted = thread.post(.job { continuation.resume(returning: $0.isClosed ? fallback : question($0)) })
      if !isPosted { continuation.resume(returning: fallback) }
    }
  }
}
