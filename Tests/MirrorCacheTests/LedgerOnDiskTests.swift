import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

/// The ledger is exact from one process to the next.
@Suite(.timeLimit(.minutes(1)))
struct LedgerOnDiskTests {
  let test: TestCache
  private let day: Int64 = 20_000
  init() throws { test = try TestCache() }

  private func entry(_ day: Int64, _ prefix: ObjectKey, _ kind: RequestKind, _ outcome: RequestOutcome = .success)
    -> LedgerEntry
  {
    LedgerEntry(day: day, prefix: prefix, RequestClass(kind, outcome))
  }

  private var some: LedgerEntries {
    [
      entry(day, ObjectKey(""), .list): Tally(requests: 3, bytes: 700),
      entry(day, ObjectKey("a/"), .get): Tally(requests: 2, bytes: 1 << 40),
      entry(day, ObjectKey("a/"), .get, .notModified): Tally(requests: 5, bytes: 0),
      entry(day, ObjectKey([0xFF, 0x00, 0x2F]), .head, .unanswered): Tally(requests: 1, bytes: 0),
      LedgerEntry(day: day, prefix: LedgerEntry.rest, RequestClass(.get, .success, .glacierIR)):
        Tally(requests: 9, bytes: 9),
    ]
  }

  @Test func `entries add up over days and lives`() async throws {
    let cache = try test.open()
    cache.catalogue.saveLedger(some)
    cache.catalogue.saveLedger([entry(day + 1, ObjectKey("a/"), .get): Tally(requests: 1, bytes: 1)])
    #expect(await cache.catalogue.ledger(days: day...day) == some)
    #expect(await cache.catalogue.ledger().count == some.count + 1)
    await cache.close()
    let again = try test.open()
    again.catalogue.saveLedger(some)
    let twice = some.mapValues { $0 + $0 }
    #expect(await again.catalogue.ledger(days: 0...day) == twice)
    await again.catalogue.flush()
    #expect(try test.inspector.ledger(of: test.source(), days: day...day) == twice)
    #expect(try test.inspector.ledger(of: test.source(), days: day + 2...day + 9).isEmpty)
    await again.close()
  }

  @Test func `what was saved two seconds before a kill is there, once`() async throws {
    let cache = try test.open()
    cache.catalogue.saveLedger(some)
    // Another process sees it without this one doing anything more.
    let end = ContinuousClock.now + .seconds(10)
    while try test.inspector.ledger(of: test.source()).isEmpty, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(try test.inspector.ledger(of: test.source()) == some)
    await cache.abandon()
    let again = try test.open()
    #expect(await again.catalogue.ledger() == some)
    await again.close()
  }

  @Test func `prices are kept where they differ from the usual`() async throws {
    let cache = try test.open()
    var prices = Prices()
    try prices.set("get=1/3000")
    try prices.set("retrieval:STANDARD_IA=0.02/GB")
    cache.catalogue.savePrices(prices)
    await cache.catalogue.flush()
    #expect(try test.inspector.prices(of: test.source()) == prices)
    cache.catalogue.savePrices(Prices())
    await cache.catalogue.flush()
    #expect(try test.inspector.prices(of: test.source()) == Prices())
    await cache.close()
  }

  @Test func `prefixes of long ago are joined, and no request is lost`() async throws {
    let today = test.clock.wall().seconds / 86400
    let old = today - Schema.daysByPrefix - 1
    let cache = try test.open()
    for day in [old, old + 1] {
      cache.catalogue.saveLedger([
        entry(day, ObjectKey("a/"), .get): Tally(requests: 1, bytes: 10),
        entry(day, ObjectKey("b/"), .get): Tally(requests: 2, bytes: 20),
        entry(day, LedgerEntry.rest, .get): Tally(requests: 4, bytes: 40),
        entry(day, ObjectKey(""), .list): Tally(requests: 8, bytes: 80),
      ])
    }
    await cache.close()
    for _ in 0..<2 {
      let again = try test.open()
      #expect(
        await again.catalogue.ledger(days: old...old) == [
          entry(old, LedgerEntry.rest, .get): Tally(requests: 7, bytes: 70),
          entry(old, LedgerEntry.rest, .list): Tally(requests: 8, bytes: 80),
        ])
      #expect(await again.catalogue.ledger(days: old + 1...today).count == 4)
      await again.close()
    }
  }

  /// What version 1 left behind.
  private func makeFirstVersion() async throws -> CachedSource {
    let cache = try test.open()
    try cache.store(ObjectKey("k"), pattern(1000))
    await cache.close()
    let source = try test.source()
    let connection = try Connection(source.directory + "/catalogue.sqlite", .readWrite)
    try connection.execute(
      """
      DROP TABLE ledger; DROP TABLE prices; DROP TABLE absences; ALTER TABLE objects DROP COLUMN said;
      ALTER TABLE objects DROP COLUMN version_id; ALTER TABLE objects DROP COLUMN posix;
      UPDATE meta SET value = 1 WHERE name = 'version';
      CREATE TABLE ledger(
        day INTEGER PRIMARY KEY, gets INTEGER NOT NULL, heads INTEGER NOT NULL, lists INTEGER NOT NULL,
        others INTEGER NOT NULL, not_modified INTEGER NOT NULL, failed INTEGER NOT NULL, bytes INTEGER NOT NULL);
      INSERT INTO ledger VALUES(20000, 10, 1, 2, 0, 4, 3, 5000);
      """)
    return source
  }

  @Test func `a cache of the first version is read, and taken over with its copies`() async throws {
    let source = try await makeFirstVersion()
    let old: LedgerEntries = [
      entry(day, ObjectKey(""), .get): Tally(requests: 6, bytes: 5000),
      entry(day, ObjectKey(""), .get, .notModified): Tally(requests: 4, bytes: 0),
      entry(day, ObjectKey(""), .head): Tally(requests: 1, bytes: 0),
      entry(day, ObjectKey(""), .list): Tally(requests: 2, bytes: 0),
    ]
    #expect(try test.inspector.ledger(of: source) == old)
    #expect(try test.inspector.prices(of: source) == Prices())
    let cache = try test.open()
    #expect(!exists(source.directory + "/catalogue.sqlite.damaged"))
    #expect(await cache.blob(ObjectKey("k"), 1000)?.content == pattern(1000))
    #expect(await cache.catalogue.ledger() == old)
    cache.catalogue.saveLedger(old)
    #expect(await cache.catalogue.ledger() == old.mapValues { $0 + $0 })
    await cache.close()
  }

  @Test func `a cache of the second version is taken over`() async throws {
    let cache = try test.open()
    try cache.store(ObjectKey("k"), pattern(1000))
    cache.catalogue.saveLedger(some)
    await cache.close()
    let source = try test.source()
    do {
      let connection = try Connection(source.directory + "/catalogue.sqlite", .readWrite)
      try connection.execute(
        """
        DROP TABLE absences; ALTER TABLE objects DROP COLUMN said; ALTER TABLE objects DROP COLUMN version_id;
        ALTER TABLE objects DROP COLUMN posix; UPDATE meta SET value = 2 WHERE name = 'version';
        """)
    }
    #expect(try test.inspector.ledger(of: source) == some)
    let again = try test.open()
    #expect(!exists(source.directory + "/catalogue.sqlite.damaged"))
    #expect(await again.blob(ObjectKey("k"), 1000)?.content == pattern(1000))
    #expect(await again.catalogue.ledger() == some)
    await again.close()
  }
}
