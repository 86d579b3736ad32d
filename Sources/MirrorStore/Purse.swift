// What may still be spent: every request takes from it before it is sent, and what was sent is counted.
public import MirrorPlatform
import Synchronization

/// The budgets of one mount, safe to share; they hold over restarts and crashes.
public final class Purse: Sendable {
  /// Stretching ends when the pressure has gone down so far.
  private static let relief = 0.25

  /// An advance is good for so long; then a crash of long ago is known to be one.
  private static let advanceLength = Duration.seconds(60)
  /// A request may be seen so much later than it was let through.
  private static let delay = Duration.seconds(60)

  private struct State {
    var policy: BudgetPolicy
    /// What may be spent before the next save, until when.
    var advance = Spend.nothing
    var advanceEnds = Instant.distantPast
    var isSaving = false
    /// Storage classes that were seen: the dearest of them is what a GET may cost.
    var classes: Set<StorageClass> = [.standard]
    /// Something that could wait was put off, and the pressure has not gone since.
    var isStretching = false
    var isClosed = false
  }
  private let state: Mutex<State>
  private let prices: Prices
  private let file: SpendingFile?
  private let clock: any Clock
  private let log: Log
  let saver = WorkQueue(name: "spending", threads: 1)

  /// Goes on from what `file` holds; without one all is forgotten at the end. Reads and writes it: may block.
  public init(
    _ limits: [BudgetLimit], prices: Prices = Prices(), file: SpendingFile? = nil, clock: any Clock = SystemClock(),
    log: Log = .none
  ) {
    self.prices = prices
    self.file = file
    self.clock = clock
    self.log = log
    let now = clock.now()
    var policy = BudgetPolicy(limits, now: now)
    if let file { policy.record = Self.load(file, now, clock.wall(), log) }
    state = Mutex(State(policy: policy))
    save(atLeast: .nothing)
  }

  private static func load(_ file: SpendingFile, _ now: Instant, _ wall: WallTime, _ log: Log) -> SpendingRecord {
    do throws(Errno) {
      guard let bytes = try file.read() else { return SpendingRecord() }
      guard var saved = SavedSpending(bytes: bytes, now, wall) else {
        log.warning("\(file.path) is damaged: what was spent before this start is not known, and does not count")
        return SpendingRecord()
      }
      saved.record.add(saved.advance, at: saved.advanceEnds)
      return saved.record
    } catch {
      log.warning("\(file.path): \(error): what was spent before this start is not known, and does not count")
      return SpendingRecord()
    }
  }

  // MARK: Spending

  /// Takes what a request may cost; returns what to give back once it is over.
  ///
  /// Never waits for money, only for the save that lets a crash be survived.
  /// - Throws: `.overBudget`, at once, with the limit and the time in its message.
  func take(_ request: PricedRequest) async throws(StoreError) -> Estimate {
    // Whoever waits in parallel may have taken what was just promised; in the end no request waits for a disk.
    var waits = 0
    while true {
      defer { waits += 1 }
      switch decide(request, mayWait: waits < 8) {
      case .taken(let estimate, let isLow, let isRelieved):
        if isRelieved { log.notice("the budget suffices again: copies are validated as they should be") }
        if isLow { saver.submit { [weak self] in self?.save(atLeast: .nothing) } }
        return estimate
      case .save(let cost):
        await withCheckedContinuation { continuation in
          saver.submit { [self] in
            save(atLeast: cost)
            continuation.resume()
          }
        }
      case .refused(let refusal, let isFirst):
        if isFirst {
          log.notice("the budget of \(refusal.limit) is short: lifetimes stretch, and stale copies are served")
        }
        throw StoreError(
          .overBudget, operation: request.operation, subject: request.subject, message: refusal.text,
          retryAfter: refusal.wait)
      }
    }
  }

  private enum Decision {
    case taken(Estimate, isLow: Bool, isRelieved: Bool)
    case save(Spend)
    case refused(BudgetPolicy.Refusal, isFirst: Bool)
  }

  private func decide(_ request: PricedRequest, mayWait: Bool) -> Decision {
    state.withLock { state in
      let now = clock.now()
      let estimate = request.estimate(prices, state.classes)
      if let refusal = state.policy.refusal(request.purpose, of: request.name, estimate, now) {
        state.policy.notePutOff(request.purpose, of: request.name, now)
        // Nobody's answer is any staler for what is fetched ahead.
        if request.purpose == .ahead { return .refused(refusal, isFirst: false) }
        defer { state.isStretching = true }
        return .refused(refusal, isFirst: !state.isStretching)
      }
      if mayWait, !covers(state, estimate.most, now) { return .save(estimate.most) }
      state.advance = state.advance - estimate.most
      state.policy.reserve(estimate, now)
      let isRelieved = state.isStretching && state.policy.pressure(now) < Self.relief
      if isRelieved { state.isStretching = false }
      let usual = promise(state.policy.limits, atLeast: .nothing)
      let half = Spend(requests: usual.requests / 2, usd: usual.usd / 2)
      let isLow = !state.isSaving && !covers(state, half, now)
      if isLow { state.isSaving = true }
      return .taken(estimate, isLow: isLow, isRelieved: isRelieved)
    }
  }

  func giveBack(_ taken: [Estimate]) {
    state.withLock { state in for estimate in taken { state.policy.release(estimate) } }
  }

  /// One attempt was sent: what it took, in place of what was taken for it.
  func note(_ requests: RequestClass, _ tally: Tally, settling taken: [Estimate]) {
    state.withLock { state in
      for estimate in taken { state.policy.release(estimate) }
      state.classes.insert(requests.storageClass)
      let spend = Spend(requests: tally.requests, usd: prices.cost(requests, tally))
      state.policy.record.add(spend, at: clock.now())
    }
  }

  /// Other limits from now on; what was spent counts.
  public func setLimits(_ limits: [BudgetLimit]) {
    let now = clock.now()
    state.withLock { $0.policy.replace(limits, now: now) }
    saver.submit { [weak self] in self?.save(atLeast: .nothing) }
  }

  // MARK: On disk

  private func covers(_ state: State, _ cost: Spend, _ now: Instant) -> Bool {
    if file == nil { return true }
    return now < state.advanceEnds && !state.policy.limits.contains { state.advance[$0.unit] < cost[$0.unit] }
  }

  /// What is promised at each save: a twentieth of the smallest limit, for a crash costs as much.
  private func promise(_ limits: [BudgetLimit], atLeast cost: Spend) -> Spend {
    var promise = Spend.nothing
    for unit in BudgetLimit.Unit.allCases {
      guard let limit = limits.filter({ $0.unit == unit }).map(\.amount).min() else { continue }
      switch unit {
      case .requests: promise.requests = max(cost.requests, Int(min(limit / 20, 1e9)), 1)
      case .usd: promise.usd = max(cost.usd, limit / 20)
      }
    }
    return promise
  }

  /// Writes what is spent and under way, and promises more, unless what was promised covers the cost.
  private func save(atLeast cost: Spend) {
    guard let file else { return }
    let saved = state.withLock { state -> (bytes: [UInt8], promised: Spend, until: Instant)? in
      let now = clock.now()
      var record = state.policy.record
      record.add(state.policy.reserved, at: now)
      if state.isClosed {
        let saved = SavedSpending(record: record, advance: .nothing, until: now)
        return (saved.bytes(now, clock.wall()), .nothing, now)
      }
      if cost != .nothing, covers(state, cost, now) { return nil }
      let left = now < state.advanceEnds ? state.advance : .nothing
      let more = promise(state.policy.limits, atLeast: cost)
      let until = now + Self.advanceLength
      let whole = Spend(requests: max(0, left.requests) + more.requests, usd: max(0, left.usd) + more.usd)
      let saved = SavedSpending(record: record, advance: whole, until: until + Self.delay)
      return (saved.bytes(now, clock.wall()), more, until)
    }
    guard let saved else { return }
    do throws(Errno) { try file.write(saved.bytes) } catch {
      log.limited(.warning, key: "spending", "\(file.path): \(error): a crash would forget what was spent")
    }
    state.withLock { state in
      if saved.promised != .nothing, clock.now() >= state.advanceEnds { state.advance = .nothing }
      state.advance = state.advance + saved.promised
      state.advanceEnds = saved.until
      state.isSaving = false
    }
  }

  /// Writes exactly what was spent. May block.
  public func close() {
    state.withLock { $0.isClosed = true }
    save(atLeast: .nothing)
  }

  // MARK: What it says

  public struct Status: Equatable, Sendable {
    public let limit: BudgetLimit
    /// In the last period, requests under way included.
    public let spent: Double
    public let isStretching: Bool
  }

  public func status() -> [Status] {
    state.withLock { state in
      let now = clock.now()
      let stretches = state.isStretching && state.policy.pressure(now) >= Self.relief
      return state.policy.limits.map { limit in
        Status(limit: limit, spent: max(0, state.policy.spent(limit, now)), isStretching: stretches)
      }
    }
  }

  /// Why a request would be refused now, in words; nil: it would be sent.
  public func refusal(_ purpose: RequestPurpose, _ kind: RequestKind, of key: ObjectKey) -> String? {
    let request = PricedRequest(purpose, kind, bytes: 0, key, operation: "")
    return state.withLock { state in
      state.policy.refusal(purpose, of: request.name, request.estimate(prices, state.classes), clock.now())?.text
    }
  }
}
