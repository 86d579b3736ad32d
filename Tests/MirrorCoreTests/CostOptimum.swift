// The cheapest plans, found with all accesses known: over the planner's own blocks, and over pages at any start.
import MirrorStore

extension Trace {
  /// The least that any plan can pay that checks single keys or buys pages of the grid.
  func optimum(prices: Prices) -> Bill {
    blocks.map { BlockOptimum($0, lifetime: lifetime, page: prices.perList / prices.perGet).bill }.reduce(Bill(), +)
  }

  /// The same with pages of 1,000 keys that may begin anywhere. Exact where all accesses lie within one lifetime: then
  /// times don't matter, and keys are covered from left to right.
  func freeOptimum(prices: Prices) -> Bill {
    let keys = Set(accesses.map(\.key)).sorted()
    let page = prices.perList / prices.perGet
    var best: [(cost: Double, bill: Bill)] = [(0, Bill())]
    var first = 0
    for (index, key) in keys.enumerated() {
      while keys[first] <= key - Self.page { first += 1 }
      let (alone, paged) = (best[index], best[first])
      best.append(
        alone.cost + 1 <= paged.cost + page
          ? (alone.cost + 1, alone.bill + Bill(checks: 1)) : (paged.cost + page, paged.bill + Bill(pages: 1)))
    }
    return best[keys.count].bill
  }
}

/// A dynamic programme over the accesses at which the last page was bought. A page is never worth buying before a key
/// is stale under the plan, and between two pages a key is best checked when it is asked for and stale.
private struct BlockOptimum {
  let bill: Bill

  init(_ accesses: [Access], lifetime: Int, page: Double) {
    let keys = Dictionary(uniqueKeysWithValues: Set(accesses.map(\.key)).enumerated().map { ($1, $0) })
    let times = accesses.map(\.time)
    let names = accesses.map { keys[$0.key] ?? 0 }
    let count = accesses.count
    /// The least paid when a page is bought at an access, and when all before an access are served.
    var bought = [Double](repeating: .infinity, count: count)
    var boughtBill = [Bill](repeating: Bill(), count: count)
    var served = [Double](repeating: .infinity, count: count + 1)
    var servedBill = [Bill](repeating: Bill(), count: count + 1)
    var checkedBy = [Int](repeating: -2, count: keys.count)
    var checkedUntil = [Int](repeating: 0, count: keys.count)
    for start in -1..<count {
      var cost = start < 0 ? 0 : bought[start]
      if cost == .infinity { continue }
      var bill = start < 0 ? Bill() : boughtBill[start]
      let fresh = start < 0 ? Int.min : times[start] + lifetime
      var next = max(0, start)
      while next < count {
        if cost < served[next] { (served[next], servedBill[next]) = (cost, bill) }
        // Whoever is so far behind had better buy a page now from the best state.
        if cost >= served[next] + page, next > start { break }
        let (time, name) = (times[next], names[next])
        if time >= fresh, checkedBy[name] != start || time >= checkedUntil[name] {
          if cost + page < bought[next] {
            (bought[next], boughtBill[next]) = (cost + page, bill + Bill(pages: 1))
          }
          (checkedBy[name], checkedUntil[name]) = (start, time + lifetime)
          cost += 1
          bill.checks += 1
        }
        next += 1
      }
      if next == count, cost < served[count] { (served[count], servedBill[count]) = (cost, bill) }
    }
    self.bill = servedBill[count]
  }
}
