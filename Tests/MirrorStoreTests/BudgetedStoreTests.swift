// The budget around a store: concurrent requests, retries, restarts and crashes.
import MirrorPlatform
import Synchronization
import TestSupport
import Testing

@testable import MirrorStore

/// A store that counts what it is sent, as S3's does, and answers or fails as told.
final class CountedStore: ObjectStore {
  private let state = Mutex<(times: [Instant], failure: StoreError.Code?, repeats: Int)>(([], nil, 0))
  private let ledger: Ledger
  private let clock: any Clock
  private let delay: Duration

  init(_ ledger: Ledger, _ clock: any Clock, delay: Duration = .zero) {
    self.ledger = ledger
    self.clock = clock
    self.delay = delay
  }

  var times: [Instant] { state.withLock { $0.times } }
  func fail(_ code: StoreError.Code?) { state.withLock { $0.failure = code } }
  /// Each request is sent so many times more, as after a redirection.
  func sendAgain(_ times: Int) { state.withLock { $0.repeats = times } }

  private func send(_ kind: RequestKind, bytes: Int64) async throws(StoreError) {
    let (failure, repeats) = state.withLock { ($0.failure, $0.repeats) }
    for attempt in 0...repeats {
      if attempt > 0 { try await Allowance.current?.again() }
      state.withLock { $0.times.append(clock.now()) }
      if delay > .zero { try? await Task.sleep(for: delay) }
      ledger.record(kind, status: failure == nil ? 200 : 500, bytes: bytes)
    }
    if let failure { throw StoreError(failure, operation: "Test", subject: "x", message: "told to fail") }
  }

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    try await send(.get, bytes: 1000)
    return .notModified(modified: nil)
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await send(.head, bytes: 0)
    return ObjectMetadata(revision: ObjectRevision(etag: nil, size: 0, modified: 1))
  }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try await send(.list, bytes: 5000)
    return ListPage(objects: [], prefixes: [], next: nil)
  }
  func probe(deadline: Instant?) async throws(StoreError) { try await send(.head, bytes: 0) }
}

extension Purse {
  /// What a killed process had not begun to write is never written.
  fileprivate func crash() async {
    await withCheckedContinuation { continuation in saver.submit { continuation.resume() } }
  }
}

final class NoSink: ObjectSink {
  func begin(_ head: ObjectHead) -> Bool { false }
  func receive(_ bytes: RawSpan) -> Bool { false }
}

@Suite(.timeLimit(.minutes(1))) struct BudgetedStoreTests {
  let clock = ManualClock()

  private func stack(_ limits: [BudgetLimit], prices: Prices = Prices(), file: String? = nil, delay: Duration = .zero)
    -> (CountedStore, BudgetedStore, Purse)
  {
    let ledger = Ledger(prices: prices, clock: clock)
    let counted = CountedStore(ledger, clock, delay: delay)
    let purse = Purse(limits, prices: prices, file: file.map { SpendingFile(path: $0) }, clock: clock)
    return (counted, BudgetedStore(counted, purse: purse, ledger: ledger), purse)
  }

  private func get(_ store: any ObjectStore, _ purpose: RequestPurpose = .content) async -> StoreError? {
    do throws(StoreError) {
      _ = try await store.get(
        GetRequest(key: ObjectKey("k"), range: ByteRange(0, 4096), purpose: purpose), into: NoSink())
      return nil
    } catch { return error }
  }

  @Test func `requests in parallel can't overshoot`() async {
    let (counted, store, purse) = stack([BudgetLimit(25, .requests, per: .hour)], delay: .milliseconds(5))
    let refused = await withTaskGroup { group in
      for _ in 0..<300 { group.addTask { await get(store)?.code } }
      return await group.reduce(into: 0) { $0 += $1 == .overBudget ? 1 : 0 }
    }
    #expect(counted.times.count == 25)
    #expect(refused == 275)
    #expect(purse.status().first?.spent == 25)
    clock.advance(.seconds(3600 + 60))
    #expect(await get(store) == nil, "an hour later there is money again")
  }

  @Test func `a refusal says which budget and when, and is neither retried nor an outage of the network`() async throws
  {
    let (_, store, _) = stack([BudgetLimit(2, .requests, per: .hour)])
    for _ in 0..<2 { #expect(await get(store) == nil) }
    let error = try #require(await get(store))
    #expect(error.code == .overBudget)
    #expect(error.isOriginFailure && !error.isRetryable && !error.isConnectionFailure)
    #expect("\(error)".contains("2req/hour is spent (2 requests in the last hour)"), "\(error)")
    #expect("\(error)".contains("in 1h") || "\(error)".contains("in 60"), "\(error)")
    let wait = try #require(error.retryAfter)
    clock.advance(wait)
    #expect(await get(store) == nil, "the time told is true")
  }

  @Test func `retries and repetitions are counted before they are sent`() async {
    let (counted, store, _) = stack([BudgetLimit(10, .requests, per: .hour)])
    counted.fail(.serverError)
    let retrying = RetryingStore(
      store, policy: RetryPolicy(maximumAttempts: 4), clock: clock, sleep: { _ in }, random: { 0 })
    var codes: [StoreError.Code?] = []
    for _ in 0..<5 { codes.append(await get(retrying)?.code) }
    #expect(counted.times.count == 10)
    #expect(codes == [.serverError, .serverError, .overBudget, .overBudget, .overBudget])
    let (again, other, _) = stack([BudgetLimit(10, .requests, per: .hour)])
    again.sendAgain(3)
    for _ in 0..<5 { _ = await get(other) }
    #expect(again.times.count == 10)
  }

  @Test func `what fails before it is sent takes nothing`() async {
    struct Unreachable: ObjectStore {
      func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome { throw error }
      func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { throw error }
      func list(_ request: ListRequest) async throws(StoreError) -> ListPage { throw error }
      func probe(deadline: Instant?) async throws(StoreError) { throw error }
      var error: StoreError { StoreError(.unreachable, operation: "Test", subject: "x", message: "no route") }
    }
    let purse = Purse([BudgetLimit(3, .requests, per: .day)], clock: clock)
    let store = BudgetedStore(Unreachable(), purse: purse, ledger: Ledger(clock: clock))
    for _ in 0..<10 { #expect(await get(store)?.code == .unreachable) }
    #expect(purse.status().first?.spent == 0)
  }

  @Test func `a budget in USD counts what the ledger counts, bodies too`() async {
    var prices = Prices()
    prices.perByteReceived = 1e-6
    let each = prices.perGet + 1000 * 1e-6
    let (counted, store, purse) = stack([BudgetLimit(0.02, .usd, per: .day)], prices: prices)
    while await get(store) == nil {}
    // The answers are shorter than what was asked for, which has to be reserved: 4096 bytes.
    #expect(Double(counted.times.count) * each <= 0.02)
    #expect(counted.times.count >= 15)
    let spent = purse.status().first?.spent ?? 0
    #expect(abs(spent - Double(counted.times.count) * each) < 1e-9)
  }

  @Test func `a restart goes on where the last one ended, a crash assumes the worst of what was not saved`()
    async throws
  {
    let directory = try TemporaryDirectory("purse")
    for isCrash in [false, true] {
      for seed in 0..<15 {
        var random = Seeded(seed)
        let file = directory.file("spending-\(isCrash)-\(seed)")
        let amount = Int.random(in: 1...120, using: &random)
        var times: [Instant] = []
        var starts = 0
        while starts < 8 {
          starts += 1
          let (counted, store, purse) = stack([BudgetLimit(Double(amount), .requests, per: .hour)], file: file)
          for _ in 0..<Int.random(in: 0...amount, using: &random) {
            clock.advance(.seconds(Int.random(in: 0...3600 / amount, using: &random)))
            _ = await get(store)
          }
          times += counted.times
          if isCrash { await purse.crash() } else { purse.close() }
          clock.advance(.seconds(Int.random(in: 0...60, using: &random)))
        }
        #expect(BudgetPolicyTests.most(times, in: .seconds(3600)) <= amount, "seed \(seed)")
        clock.advance(.seconds(4000))
        let (_, store, _) = stack([BudgetLimit(Double(amount), .requests, per: .hour)], file: file)
        #expect(await get(store) == nil, "seed \(seed): what is long ago counts no more")
      }
    }
  }

  @Test func `a crash costs a twentieth at most, and a clean end nothing`() async throws {
    let directory = try TemporaryDirectory("purse")
    for isCrash in [false, true] {
      let file = directory.file("spending-\(isCrash)")
      let limit = BudgetLimit(1000, .requests, per: .day)
      let (_, store, purse) = stack([limit], file: file)
      for _ in 0..<300 { #expect(await get(store) == nil) }
      if isCrash { await purse.crash() } else { purse.close() }
      let (_, _, next) = stack([limit], file: file)
      let spent = try #require(next.status().first?.spent)
      if isCrash { #expect(spent >= 300 && spent <= 400, "\(spent)") } else { #expect(spent == 300) }
    }
  }

  @Test func `a file that is damaged is no reason to fail`() async throws {
    let directory = try TemporaryDirectory("purse")
    let file = directory.file("spending")
    try FileSystem.write(Array("s3mirror spending 1\nhour 12 x".utf8), to: file, mode: 0o600)
    let (_, store, purse) = stack([BudgetLimit(5, .requests, per: .hour)], file: file)
    #expect(await get(store) == nil)
    purse.close()
    let saved = try #require(SavedSpending(bytes: try FileSystem.read(file), clock.now(), clock.wall()))
    #expect(saved.record.spent(.hour, before: clock.now()).requests == 1)
    #expect(saved.advance == .nothing)
  }

  @Test func `sums beyond all that was ever spent can be written and read again`() throws {
    let most = 1_099_511_627_776
    let time = clock.wall().milliseconds
    let text = "s3mirror spending 1\nday \(time) \(most) \(most)\nday \(time) 5 1\nadvance 0 0 0\n"
    let saved = try #require(SavedSpending(bytes: Array(text.utf8), clock.now(), clock.wall()))
    let again = SavedSpending(bytes: saved.bytes(clock.now(), clock.wall()), clock.now(), clock.wall())
    #expect(again?.record.spent(.day, before: clock.now()).requests == most)
    let endless = text.replacing(" 5 1\n", with: " 5 1e300\n")
    #expect(SavedSpending(bytes: Array(endless.utf8), clock.now(), clock.wall()) == nil)
  }

  @Test func `a remainder below nothing is written so that it can be read`() throws {
    var record = SpendingRecord()
    record.add(Spend(requests: 0, usd: -1e-18), at: clock.now())
    let saved = SavedSpending(record: record, advance: .nothing, until: clock.now())
    #expect(SavedSpending(bytes: saved.bytes(clock.now(), clock.wall()), clock.now(), clock.wall()) != nil)
  }

  @Test func `a wall clock set back makes spending no older`() async throws {
    let directory = try TemporaryDirectory("purse")
    let file = directory.file("spending")
    let limit = BudgetLimit(5, .requests, per: .hour)
    let (_, store, purse) = stack([limit], file: file)
    for _ in 0..<5 { #expect(await get(store) == nil) }
    purse.close()
    clock.stepWall(.seconds(-86400))
    let (_, after, _) = stack([limit], file: file)
    #expect(await get(after)?.code == .overBudget)
  }

  @Test func `stretching begins and ends once`() async throws {
    let directory = try TemporaryDirectory("purse")
    let log = try Log(path: directory.file("log"), clock: clock)
    let ledger = Ledger(clock: clock)
    let purse = Purse([BudgetLimit(100, .requests, per: .hour)], clock: clock, log: log)
    let store = BudgetedStore(CountedStore(ledger, clock), purse: purse, ledger: ledger)
    for _ in 0..<200 { _ = await get(store, .listing) }
    #expect(purse.status().first?.isStretching == true)
    clock.advance(.seconds(8000))
    for _ in 0..<3 { #expect(await get(store, .listing) == nil) }
    #expect(purse.status().first?.isStretching == false)
    let lines = String(decoding: try FileSystem.read(directory.file("log")), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.first?.contains("100req/hour is short") == true)
    #expect(lines.last?.contains("suffices again") == true)
  }
}
