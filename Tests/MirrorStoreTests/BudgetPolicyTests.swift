// What a budget lets through, over random loads on a clock of our own.
import MirrorPlatform
import Testing

@testable import MirrorStore

/// A small generator: the same seed, the same load.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

@Suite(.timeLimit(.minutes(1))) struct BudgetPolicyTests {
  static let get = Estimate(usual: Spend(requests: 1, usd: 1), most: Spend(requests: 1, usd: 1))

  @Test func `of requests that are over nothing is reserved, to the last fraction`() {
    let prices = [0.1, 0.2, 0.3]
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
      var policy = BudgetPolicy([BudgetLimit(5, .usd, per: .day)], now: Instant(nanoseconds: 0))
      let estimates = prices.map { Estimate(usual: Spend(requests: 1, usd: $0), most: Spend(requests: 1, usd: $0)) }
      for estimate in estimates { policy.reserve(estimate, Instant(nanoseconds: 0)) }
      for index in order { policy.release(estimates[index]) }
      #expect(policy.reserved == .nothing)
    }
  }

  /// The most in any half-open stretch of this length.
  static func most(_ times: [Instant], in length: Duration) -> Int {
    var (first, most) = (0, 0)
    for index in times.indices {
      while times[index] - times[first] >= length { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  /// Sends what is let through, each under way for a while and seen by the server somewhere in between.
  static func run(
    _ policy: inout BudgetPolicy, from start: Instant, steps: Int, gap: ClosedRange<Int>, _ random: inout Seeded,
    purpose: (inout Seeded, Instant) -> RequestPurpose
  ) -> (seen: [Instant], sent: [RequestPurpose], refused: Int, end: Instant) {
    var now = start
    var underWay: [(end: Instant, estimate: Estimate)] = []
    var (seen, sent, refused): ([Instant], [RequestPurpose], Int) = ([], [], 0)
    func settle(_ policy: inout BudgetPolicy, until now: Instant) {
      for one in underWay.filter({ $0.end <= now }).sorted(by: { $0.end < $1.end }) {
        policy.record.add(one.estimate.most, at: one.end)
        policy.release(one.estimate)
      }
      underWay.removeAll { $0.end <= now }
    }
    for _ in 0..<steps {
      now = now + .milliseconds(Int.random(in: gap, using: &random))
      settle(&policy, until: now)
      let purpose = purpose(&random, now)
      let name = UInt64.random(in: 0..<50, using: &random)
      guard policy.refusal(purpose, of: name, get, now) == nil else {
        policy.notePutOff(purpose, of: name, now)
        refused += 1
        continue
      }
      policy.reserve(get, now)
      let duration = Int.random(in: 0...4000, using: &random)
      seen.append(now + .milliseconds(Int.random(in: 0...duration, using: &random)))
      underWay.append((now + .milliseconds(duration), get))
      sent.append(purpose)
    }
    settle(&policy, until: now + .seconds(5))
    return (seen.sorted(), sent, refused, now)
  }

  @Test func `no stretch of time sees more than the limit, whatever comes`() {
    for seed in 0..<2000 {
      var random = Seeded(seed)
      let amount = Int.random(in: 1...40, using: &random)
      let period: BudgetLimit.Period = seed % 3 == 0 ? .hour : .minute
      let start = Instant(nanoseconds: Int64.random(in: 0...10_000_000_000_000, using: &random))
      var policy = BudgetPolicy([BudgetLimit(Double(amount), .requests, per: period)], now: start)
      let unit = Int(period.length.secondsValue) * 1000 / amount
      let cold = Int.random(in: 0...10, using: &random)
      let run = Self.run(&policy, from: start, steps: 15 * amount + 100, gap: 0...max(1, unit / 5), &random) {
        random, now in
        if Int.random(in: 0..<10, using: &random) < cold { return .content }
        return Bool.random(using: &random) ? .listing : .validation(used: now, lifetime: .seconds(60))
      }
      let most = Self.most(run.seen, in: period.length)
      #expect(most <= amount, "seed \(seed)")
      #expect(most >= (amount + 1) / 2, "seed \(seed): \(most) of \(amount) is too little")
      #expect(abs(policy.reserved.usd) < 1e-9 && policy.reserved.requests == 0)
    }
  }

  @Test func `all limits hold, and one in USD`() {
    for seed in 0..<20 {
      var random = Seeded(seed)
      let start = Instant(nanoseconds: 1)
      var policy = BudgetPolicy(
        [
          BudgetLimit(30, .requests, per: .minute), BudgetLimit(400, .usd, per: .hour),
          BudgetLimit(600, .requests, per: .day),
        ], now: start)
      let run = Self.run(&policy, from: start, steps: 1500, gap: 0...7000, &random) { random, now in
        Bool.random(using: &random) ? .content : .validation(used: now, lifetime: .seconds(60))
      }
      #expect(Self.most(run.seen, in: .seconds(60)) <= 30)
      #expect(Self.most(run.seen, in: .seconds(3600)) <= 400)
      #expect(Self.most(run.seen, in: .seconds(86400)) <= 600)
      #expect(run.sent.count > 300)
    }
  }

  @Test(arguments: [10, 100, 500]) func `an overload is paced and goes on being served all the time`(amount: Int) {
    let start = Instant(nanoseconds: 5_000_000_000)
    var random = Seeded(amount)
    var policy = BudgetPolicy([BudgetLimit(Double(amount), .requests, per: .hour)], now: start)
    // Ten times what the budget gives, for five hours.
    let gap = 3_600_000 / amount / 10
    let run = Self.run(&policy, from: start, steps: amount * 50, gap: gap...gap, &random) { _, now in
      .validation(used: now, lifetime: .seconds(60))
    }
    let firstMinute = run.seen.count { $0 - start < .seconds(60) }
    #expect(firstMinute <= max(2, amount / 6), "\(firstMinute)")
    #expect(run.seen.count > amount * 3, "\(run.seen.count) of \(amount * 5) in five hours")
    // After the first hour nothing waits long: lifetimes stretch, and do not end.
    let later = run.seen.filter { $0 - start > .seconds(3600) }
    let longest = zip(later, later.dropFirst()).map { $1 - $0 }.max() ?? .zero
    #expect(longest < .seconds(amount == 10 ? 2400 : 900), "\(longest)")
    // What can wait never takes what is kept for cold content.
    #expect(Self.most(run.seen, in: .seconds(3600)) <= amount - amount / 5)
  }

  @Test func `cold content has a reserve, and is not paced`() {
    let start = Instant(nanoseconds: 0)
    var policy = BudgetPolicy([BudgetLimit(100, .requests, per: .hour)], now: start)
    var now = start
    for _ in 0..<4000 {
      now = now + .milliseconds(500)
      if policy.refusal(.listing, of: 1, Self.get, now) == nil { policy.record.add(Self.get.most, at: now) }
      // As if reserved and released.
    }
    let routine = policy.spent(policy.limits[0], now)
    #expect(routine > 60 && routine <= 80, "\(routine)")
    var cold = 0
    while policy.refusal(.content, of: 2, Self.get, now) == nil {
      policy.record.add(Self.get.most, at: now)
      cold += 1
    }
    #expect(cold == 100 - Int(routine))
    let refusal = policy.refusal(.content, of: 2, Self.get, now)
    #expect(refusal?.isPutOff == false)
    #expect(refusal.map { $0.wait > .zero && $0.wait <= .seconds(3660) } == true)
    #expect(policy.refusal(.content, of: 2, Self.get, now + (refusal?.wait ?? .zero)) == nil, "the time told is true")
  }

  @Test func `names that were used least recently are put off first`() {
    let start = Instant(nanoseconds: 0)
    var policy = BudgetPolicy([BudgetLimit(1000, .requests, per: .hour)], now: start)
    let now = start + .seconds(10_000)
    let lifetime = Duration.seconds(60)
    func asks(_ lifetimesAgo: Int) -> Bool {
      policy.refusal(
        .validation(used: now + .seconds(-60 * lifetimesAgo), lifetime: lifetime), of: UInt64(lifetimesAgo), Self.get,
        now) == nil
    }
    var order: [Int] = []
    #expect([1, 2, 5, 100].allSatisfy { asks($0) }, "no pressure, nothing put off")
    for _ in 0..<100 {
      policy.reserve(Self.get, now)
      for name in [1, 2, 5, 100] where !asks(name) && !order.contains(name) { order.append(name) }
    }
    #expect(order == [100, 5, 2, 1])
    // One that is asked for again is in use.
    var other = BudgetPolicy([BudgetLimit(1000, .requests, per: .hour)], now: start)
    for _ in 0..<80 { other.reserve(Self.get, now) }
    let rare = RequestPurpose.validation(used: start, lifetime: lifetime)
    #expect(other.refusal(rare, of: 7, Self.get, now) != nil)
    other.notePutOff(rare, of: 7, now)
    #expect(other.refusal(rare, of: 7, Self.get, now) == nil)
    #expect(other.refusal(rare, of: 8, Self.get, now) != nil)
    // To be fetched ahead is no use of it.
    other.notePutOff(.ahead, of: 8, now)
    #expect(other.refusal(rare, of: 8, Self.get, now) != nil)
  }

  @Test func `what is fetched ahead leaves half of the burst to validations, and all of the reserve to readers`() {
    let start = Instant(nanoseconds: 0)
    var policy = BudgetPolicy([BudgetLimit(100, .requests, per: .hour)], now: start)
    let used = RequestPurpose.validation(used: start, lifetime: .seconds(60))
    func asks(_ purpose: RequestPurpose, _ now: Instant) -> Bool {
      policy.refusal(purpose, of: 1, Self.get, now) == nil
    }
    var ahead = 0
    while asks(.ahead, start) {
      policy.reserve(Self.get, start)
      ahead += 1
    }
    #expect(ahead == 5 || ahead == 6, "of a burst of ten: \(ahead)")
    #expect(asks(used, start))
    // However long it goes on, the last fifth is not touched.
    for second in 1...3500 {
      let now = start + .seconds(second)
      while asks(.ahead, now) {
        policy.reserve(Self.get, now)
        ahead += 1
      }
    }
    #expect((60...80).contains(ahead), "\(ahead)")
    let now = start + .seconds(3500)
    var content = 0
    while asks(.content, now) {
      policy.reserve(Self.get, now)
      content += 1
    }
    #expect(ahead + content == 100)
  }

  @Test(arguments: [
    ("5USD/month", 5.0, BudgetLimit.Unit.usd, BudgetLimit.Period.month, "5USD/month"),
    ("0.25usd/Day", 0.25, .usd, .day, "0.25USD/day"), ("2000req/hour", 2000, .requests, .hour, "2000req/hour"),
    ("1REQ/minute", 1, .requests, .minute, "1req/minute"),
  ])
  func `a budget is written as it is read`(
    text: String, amount: Double, unit: BudgetLimit.Unit, period: BudgetLimit.Period, again: String
  ) throws {
    let limit = try BudgetLimit(parsing: text)
    #expect(limit == BudgetLimit(amount, unit, per: period))
    #expect(limit.description == again)
  }

  @Test(arguments: [
    "", "5", "5USD", "5/month", "USD/month", "5EUR/month", "5USD/year", "0req/hour", "1.5req/hour", "-1USD/day",
    "1e3req/hour", "5USD/month/day", "nanUSD/day", "5 USD/month",
  ])
  func `what is no budget is refused`(text: String) {
    #expect(throws: BudgetError.self) { try BudgetLimit(parsing: text) }
  }
}
