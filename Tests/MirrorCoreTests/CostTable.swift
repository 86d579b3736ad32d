// The table of what each way to validate costs, for people.
import Glibc
import MirrorPlatform
import MirrorStore

func geometricMean(_ values: [Double]) -> Double { exp(values.reduce(0) { $0 + log($1) } / Double(values.count)) }

/// Rows of sums over seeds.
struct CostTable {
  let prices: Prices
  private var rows: [[String]] = []
  private var ratios: [Double] = []
  private(set) var worst = 0.0

  init(prices: Prices) { self.prices = prices }

  var isEmpty: Bool { rows.isEmpty }
  var mean: Double { geometricMean(ratios) }

  mutating func add(_ name: String, _ traces: [Trace]) {
    let outcomes = traces.map { Outcome(name, $0, prices: prices) }
    let ratio = geometricMean(outcomes.map(\.ratio))
    ratios.append(ratio)
    worst = max(worst, outcomes.map(\.ratio).max() ?? 0)
    let sums = [\Outcome.planner, \.optimum, \.checks, \.lists, \.headAlways, \.headAndList].map { bill in
      outcomes.reduce(Bill()) { $0 + $1[keyPath: bill] }
    }
    rows.append(
      [name, decimal(ratio, places: 3)]
        + sums.map { "\($0.checks)+\($0.pages) \(decimal($0.usd(prices), places: 5))" })
  }

  /// Requests are GETs or HEADs and, after `+`, LISTs.
  var text: String {
    let head = [
      "accesses", "ratio", "s3mirror", "optimum", "GET when stale", "LIST when stale", "HEAD at each open",
      "HEAD and LIST at each open",
    ]
    let all = [head] + rows
    let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
