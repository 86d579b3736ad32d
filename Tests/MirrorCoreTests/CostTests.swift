// What validation costs: the shipped decision against the best that could have been done by who knows all.
import Glibc
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCore

// One after the other, and with pauses: others need the threads that these sums would hold.
@Suite(.serialized, .timeLimit(.minutes(1))) struct CostTests {
  private let prices = Prices()

  @Test func `no use costs more than twice the best plan, and all of them little more than the best`() async {
    #expect(Family.all.count >= 20)
    var ratios: [Double] = []
    for family in Family.all {
      await Task.yield()
      let outcome = Outcome(family.name, family.trace(1), prices: prices)
      #expect(outcome.ratio <= 2, "\(outcome.name): \(outcome.planner), \(outcome.optimum)")
      ratios.append(outcome.ratio)
    }
    #expect(geometricMean(ratios) <= 1.25)
  }

  @Test func `whatever the prices, and whatever comes, it is at most twice the best`() async {
    var dice = Dice(7)
    for number in 0..<150 {
      await Task.yield()
      var prices = Prices()
      prices.perList = prices.perGet * [12.5, 12.5, 1, 3.5, 12, 25][number % 6]
      let outcome = Outcome("anything", Trace(anything: &dice), prices: prices)
      #expect(outcome.ratio <= 2, "\(number): \(outcome.planner), \(outcome.optimum)")
    }
  }

  @Test func `within one window it is at most four times what pages at any place would cost`() async {
    var dice = Dice(11)
    var worst = 0.0
    for _ in 0..<200 {
      await Task.yield()
      let spread = [20, 900, 3000, 20_000][dice.below(4)]
      let keys = (0..<1 + dice.below(120)).map { _ in 500 + dice.below(spread) }
      let trace = Trace(
        accesses: keys.enumerated().map { Access(time: $0.offset, key: $0.element) }, lifetime: Family.minute)
      let ratio =
        trace.bill(ShippedPlan.self, prices: prices).usd(prices) / trace.freeOptimum(prices: prices).usd(prices)
      worst = max(worst, ratio)
      #expect(ratio <= 4)
    }
    #expect(worst > 1.5, "no trace was hard")
  }

  @Test func `the optimum is that of a search through all plans`() async {
    var dice = Dice(3)
    var prices = Prices()
    prices.perList = prices.perGet * 2.5
    for _ in 0..<40 {
      await Task.yield()
      var time = 0
      let accesses = (0..<9).map { _ -> Access in
        time += dice.below(40)
        return Access(time: time, key: dice.below(5))
      }
      let trace = Trace(accesses: accesses, lifetime: 60)
      let least = cheapest(accesses[...], [:], lifetime: 60, page: 2.5)
      #expect(abs(trace.optimum(prices: prices).usd(prices) / prices.perGet - least) < 1e-9)
    }
  }

  /// Tries everything: nothing, a check and a page at each access.
  private func cheapest(_ rest: ArraySlice<Access>, _ fresh: [Int: Int], lifetime: Int, page: Double) -> Double {
    guard let access = rest.first else { return 0 }
    var checked = fresh
    checked[access.key] = access.time + lifetime
    let listed = Dictionary(uniqueKeysWithValues: (0..<5).map { ($0, access.time + lifetime) })
    let next = rest.dropFirst()
    var least = min(
      1 + cheapest(next, checked, lifetime: lifetime, page: page),
      page + cheapest(next, listed, lifetime: lifetime, page: page))
    if access.time < fresh[access.key] ?? .min {
      least = min(least, cheapest(next, fresh, lifetime: lifetime, page: page))
    }
    return least
  }

  @Test func `a recorded trace is replayed`() throws {
    let trace = try #require(Trace(recorded: "0.5 b/x y\n1 a\n\n62.25 b/x y\n", lifetime: Family.minute))
    #expect(trace.accesses == [Access(time: 500, key: 1), Access(time: 1000, key: 0), Access(time: 62250, key: 1)])
    #expect(trace.bill(ShippedPlan.self, prices: prices) == Bill(checks: 3))
    #expect(Trace(recorded: "soon a\n", lifetime: 1) == nil)
  }
}

struct CostTableTests {
  private let prices = Prices()

  /// `scripts/bench cost` asks for it: so many seeds of each family, or traces that were recorded.
  @Test(.enabled(if: getenv("S3MIRROR_COST_SEEDS") != nil), .timeLimit(.minutes(60)))
  func `a table of what each way costs`() throws {
    let seeds = try #require(Int(environment("S3MIRROR_COST_SEEDS")))
    var table = CostTable(prices: prices)
    for path in environment("S3MIRROR_COST_TRACES").split(separator: ":") {
      let text = String(decoding: try FileSystem.read(String(path)), as: UTF8.self)
      let lifetime = Int(environment("S3MIRROR_COST_LIFETIME")) ?? 60
      table.add(String(path), [try #require(Trace(recorded: text, lifetime: lifetime * 1000), "\(path): SECONDS NAME")])
    }
    if table.isEmpty { for family in Family.all { table.add(family.name, (1...seeds).map(family.trace)) } }
    var dice = Dice(1)
    let count = seeds * 1000
    let worst = (0..<count).map { _ in Outcome("", Trace(anything: &dice), prices: prices).ratio }.max() ?? 0
    print(table.text)
    print("geometric mean of the ratios \(decimal(table.mean, places: 3)), worst \(decimal(table.worst, places: 3));")
    print("worst of \(count) random traces \(decimal(worst, places: 3))")
    #expect(max(table.worst, worst) <= 2)
  }

  private func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
}

extension Trace {
  init(anything dice: inout Dice) { self.init(accesses: Family.anything(&dice), lifetime: Family.minute) }

  /// Lines of `SECONDS NAME`; nil where one is not. Names become numbers in their order.
  init?(recorded text: String, lifetime: Int) {
    var lines: [(time: Int, name: [UInt8])] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let seconds = Double(parts[0]) else { return nil }
      lines.append((Int(seconds * 1000), Array(parts[1].utf8)))
    }
    let names = Set(lines.map(\.name)).sorted { $0.lexicographicallyPrecedes($1) }
    let numbers = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    accesses = lines.map { Access(time: $0.time, key: numbers[$0.name] ?? 0) }.sorted { $0.time < $1.time }
    self.lifetime = lifetime
  }
}
