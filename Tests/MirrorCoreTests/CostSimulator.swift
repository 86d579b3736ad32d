// Replays accesses against ways to validate, and says what each would have paid.
import MirrorPlatform
import MirrorStore

@testable import MirrorCore

/// Somebody opens a key; keys are numbers in their order, times milliseconds.
struct Access: Equatable {
  let time: Int
  let key: Int
}

/// Accesses in order of time, and how long an answer of the server may be used.
struct Trace {
  /// Keys of one page of a listing.
  static let page = 1000

  var accesses: [Access]
  var lifetime: Int

  /// By pages of the fixed grid, in time order.
  var blocks: [[Access]] {
    Dictionary(grouping: accesses) { $0.key / Self.page }.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// What was sent.
struct Bill: Equatable {
  var checks = 0
  var pages = 0

  func usd(_ prices: Prices) -> Double { Double(checks) * prices.perGet + Double(pages) * prices.perList }
  static func + (a: Bill, b: Bill) -> Bill { Bill(checks: a.checks + b.checks, pages: a.pages + b.pages) }
}

/// A plan that decides at each access of a stale key, block by block, knowing nothing of what is to come.
protocol OnlinePlan {
  init(prices: Prices)
  mutating func buysPage(for key: Int, at now: Instant, lifetime: Duration) -> Bool
  /// The first access of a key since a page vouched for it.
  mutating func noteUse(of key: Int, at now: Instant, lifetime: Duration)
}

extension OnlinePlan {
  mutating func noteUse(of key: Int, at now: Instant, lifetime: Duration) {}
}

/// What the mirror does: the decision and the history that ship.
struct ShippedPlan: OnlinePlan {
  let planner: ValidationPlanner
  private var history = SpendingHistory()

  init(prices: Prices) { planner = ValidationPlanner(prices: prices) }

  mutating func buysPage(for key: Int, at now: Instant, lifetime: Duration) -> Bool {
    let name = UInt64(key)
    switch planner.purchase(history, of: name, lifetime: lifetime, now: now) {
    case .check:
      history.noteCheck(name, now, lifetime: lifetime)
      return false
    case .page:
      history.notePayment(name, now, lifetime: lifetime)
      history.notePage()
      return true
    }
  }

  mutating func noteUse(of key: Int, at now: Instant, lifetime: Duration) {
    history.noteUse(UInt64(key), now, lifetime: lifetime)
  }
}

struct AlwaysLists: OnlinePlan {
  init(prices: Prices) {}
  func buysPage(for key: Int, at now: Instant, lifetime: Duration) -> Bool { true }
}

struct NeverLists: OnlinePlan {
  init(prices: Prices) {}
  func buysPage(for key: Int, at now: Instant, lifetime: Duration) -> Bool { false }
}

/// One block under one plan: which keys are fresh, and what was paid so far.
struct BlockReplay<Plan: OnlinePlan> {
  private var plan: Plan
  private let lifetime: Int
  private var checkedUntil: [Int: Int] = [:]
  private(set) var pageUntil = Int.min
  private var used: Set<Int> = []
  private(set) var bill = Bill()

  init(lifetime: Int, prices: Prices) {
    plan = Plan(prices: prices)
    self.lifetime = lifetime
  }

  mutating func access(_ access: Access) {
    let (now, duration) = (Instant(nanoseconds: Int64(access.time) * 1_000_000), Duration.milliseconds(lifetime))
    if access.time >= pageUntil, access.time >= checkedUntil[access.key] ?? .min {
      if plan.buysPage(for: access.key, at: now, lifetime: duration) {
        bill.pages += 1
        pageUntil = access.time + lifetime
        used = []
      } else {
        bill.checks += 1
        checkedUntil[access.key] = access.time + lifetime
      }
    }
    if access.time < pageUntil, used.insert(access.key).inserted {
      plan.noteUse(of: access.key, at: now, lifetime: duration)
    }
  }
}

extension Trace {
  func bill<Plan: OnlinePlan>(_ plan: Plan.Type, prices: Prices) -> Bill {
    blocks.map { block in
      var replay = BlockReplay<Plan>(lifetime: lifetime, prices: prices)
      for access in block { replay.access(access) }
      return replay.bill
    }.reduce(Bill(), +)
  }
}

/// What each way costs for one trace.
struct Outcome {
  let name: String
  let accesses: Int
  let planner: Bill
  let checks: Bill
  let lists: Bill
  let optimum: Bill
  let prices: Prices

  init(_ name: String, _ trace: Trace, prices: Prices) {
    self.name = name
    self.prices = prices
    accesses = trace.accesses.count
    planner = trace.bill(ShippedPlan.self, prices: prices)
    checks = trace.bill(NeverLists.self, prices: prices)
    lists = trace.bill(AlwaysLists.self, prices: prices)
    optimum = trace.optimum(prices: prices)
  }

  /// HEAD at every open, whatever is known.
  var headAlways: Bill { Bill(checks: accesses) }
  /// HEAD and LIST at every look-up, as clients do that can't know whether a name is a file or a directory.
  var headAndList: Bill { Bill(checks: accesses, pages: accesses) }

  var ratio: Double { planner.usd(prices) / optimum.usd(prices) }
}
