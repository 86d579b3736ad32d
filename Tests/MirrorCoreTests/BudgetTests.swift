// A budget under a mirror: what is cached is served, what is cold comes from the reserve, and never too much is asked.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

/// Counts what reaches the bucket, in the ledger too, and when.
final class MeteredStore: ObjectStore {
  private let store: MemoryStore
  private let ledger: Ledger
  private let clock: any Clock
  private let sent = Mutex<[Instant]>([])
  init(_ store: MemoryStore, _ ledger: Ledger, _ clock: any Clock) {
    self.store = store
    self.ledger = ledger
    self.clock = clock
  }
  var times: [Instant] { sent.withLock { $0 } }

  private func count(_ kind: RequestKind) {
    sent.withLock { $0.append(clock.now()) }
    ledger.record(kind, status: 200, bytes: 0)
  }
  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    count(.get)
    return try await store.get(request, into: sink)
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    count(.head)
    return try await store.head(request)
  }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    count(.list)
    return try await store.list(request)
  }
  func probe(deadline: Instant?) async throws(StoreError) {
    count(.head)
    try await store.probe(deadline: deadline)
  }
}

/// A mirror with a budget and a log.
struct Budgeted {
  let fixture: MirrorFixture
  let metered: MeteredStore
  let purse: Purse

  /// Whoever waits for money passes the time.
  init(_ limit: String, _ rules: FreshnessRules = FreshnessRules(), in directory: TemporaryDirectory? = nil) throws {
    let directory = try directory ?? TemporaryDirectory("budget")
    let clock = ManualClock()
    let ledger = Ledger(clock: clock)
    let log = try Log(path: directory.file("log"), level: .info, clock: clock)
    let store = MemoryStore()
    metered = MeteredStore(store, ledger, clock)
    purse = Purse([try BudgetLimit(parsing: limit)], clock: clock, log: log)
    let budgeted = BudgetedStore(metered, purse: purse, ledger: ledger)
    fixture = try MirrorFixture(
      rules, in: directory, origin: RetryingStore(budgeted, clock: clock), memory: store, ledger: ledger, clock: clock,
      log: log, sleep: { clock.advance($0) })
  }

  /// Lines of the log that hold these words.
  func logged(_ words: String) throws -> Int {
    String(decoding: try FileSystem.read(fixture.directory.file("log")), as: UTF8.self).split(separator: "\n").count {
      $0.contains(words)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct BudgetTests {
  @Test func `a load of ten times the budget is served from the cache, and never too much is asked`() async throws {
    let budgeted = try Budgeted("60req/hour", FreshnessRules(default: .seconds(6)))
    let (fixture, clock) = (budgeted.fixture, budgeted.fixture.clock)
    for index in 0..<10 { fixture.store.put("f\(index).txt", "content \(index)") }
    for index in 0..<10 { #expect(await fixture.read("f\(index).txt") == "content \(index)") }
    // Each read and each listing wants a request: 720 an hour.
    for step in 0..<720 {
      clock.advance(.seconds(10))
      let index = step % 10
      #expect(await fixture.read("f\(index).txt") == "content \(index)")
      #expect(await fixture.list("").map(\.count) == .success(10))
    }
    let times = budgeted.metered.times
    var first = 0
    for index in times.indices {
      while times[index] - times[first] >= .seconds(3600) { first += 1 }
      #expect(index - first + 1 <= 60)
    }
    #expect(times.count > 60, "it goes on validating: \(times.count)")
    #expect(fixture.mirror.status().served.stale > 100)
    #expect(fixture.mirror.status().online)
    #expect(budgeted.purse.status().first?.isStretching == true)
    let log = String(decoding: try FileSystem.read(fixture.directory.file("log")), as: UTF8.self)
    #expect(try budgeted.logged("lifetimes stretch") == 1, "\(log)")
    #expect(try budgeted.logged("failed") == 0, "stale answers are no failures")
    await fixture.close()
  }

  @Test func `a change is seen in the end, though lifetimes stretch`() async throws {
    let budgeted = try Budgeted("20req/hour")
    let (fixture, clock) = (budgeted.fixture, budgeted.fixture.clock)
    for index in 0..<5 { fixture.store.put("f\(index).txt", "old") }
    for index in 0..<5 { #expect(await fixture.read("f\(index).txt") == "old") }
    for index in 0..<5 { fixture.store.put("f\(index).txt", "new") }
    var unseen: Set = [0, 1, 2, 3, 4]
    for _ in 0..<720 where !unseen.isEmpty {
      clock.advance(.seconds(10))
      for index in unseen where await fixture.read("f\(index).txt") == "new" { unseen.remove(index) }
    }
    #expect(unseen.isEmpty)
    #expect(budgeted.metered.times.count <= 60)
    await fixture.close()
  }

  @Test func `cold content comes from the reserve, then fails at once and says why`() async throws {
    let budgeted = try Budgeted("20req/hour")
    let (fixture, clock) = (budgeted.fixture, budgeted.fixture.clock)
    for index in 0..<40 { fixture.store.put("f\(index).txt", "c\(index)") }
    #expect(await fixture.list("").map(\.count) == .success(40))
    clock.advance(.seconds(61))
    // One file in use takes all that can wait.
    #expect(await fixture.read("f0.txt") == "c0")
    for _ in 0..<400 {
      clock.advance(.seconds(5))
      _ = await fixture.list("")
      #expect(await fixture.read("f0.txt") == "c0")
    }
    var read = 0
    while await fixture.read("f\(read + 1).txt") == "c\(read + 1)" { read += 1 }
    #expect(read >= 4, "the reserve is a fifth: \(read)")
    let cold = try #require(await fixture.node("f39.txt"), "what a listing told is known")
    #expect(await fixture.read(cold) == .failure(.inputOutput))
    #expect(await fixture.errno("unknown.txt") == .inputOutput, "never absent")
    #expect(await fixture.read("f0.txt") == "c0")
    #expect(await fixture.read("f1.txt") == "c1")
    #expect(try budgeted.logged("the budget of 20req/hour is spent") >= 1)
    #expect(fixture.mirror.status().online, "want of money is no outage")
    let state = fixture.mirror.extendedAttribute("user.s3mirror.state", of: cold.node)
    #expect(state == .success(Array("stale".utf8)))
    clock.advance(.seconds(3700))
    #expect(await fixture.read("f39.txt") == "c39")
    #expect(try budgeted.logged("suffices again") <= 1)
    await fixture.close()
  }

  @Test func `a copy too old to be served is asked for from the reserve`() async throws {
    var rules = FreshnessRules()
    rules.staleIfError = .zero
    let budgeted = try Budgeted("10req/hour", rules)
    let (fixture, clock) = (budgeted.fixture, budgeted.fixture.clock)
    fixture.store.put("f", "good")
    var served = 0
    for _ in 0..<30 {
      if await fixture.read("f") == "good" { served += 1 }
      clock.advance(.seconds(61))
    }
    // A name that nobody knows takes a LIST and a GET.
    #expect(served == 9)
    #expect(budgeted.metered.times.count == 10)
    await fixture.close()
  }

  @Test func `a start for which no money is left serves what is cached`() async throws {
    let directory = try TemporaryDirectory("budget")
    let first = try Budgeted("100req/hour", in: directory)
    first.fixture.store.put("d/f", "good")
    _ = try await first.fixture.mirror.start()
    #expect(await first.fixture.read("d/f") == "good")
    await first.fixture.close()
    let again = try Budgeted("1req/hour", in: directory)
    again.fixture.clock.advance(.seconds(7200))
    again.fixture.store.put("d/f", "good").put("x", "y")
    #expect(await again.fixture.errno("x.none") != nil)
    #expect(try await again.fixture.mirror.start())
    #expect(again.metered.times.count == 1)
    #expect(await again.fixture.read("d/f") == "good")
    #expect(again.fixture.mirror.status().online)
    await again.fixture.close()
  }
}
