// Families of traces: each a kind of use, varied by a seed.
import MirrorPlatform
import MirrorStore

/// SplitMix64: the same traces on every machine.
struct Dice: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: Int) { state = UInt64(bitPattern: Int64(seed)) &* 0x9e37_79b9_7f4a_7c15 &+ 1 }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
  mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }
}

/// A kind of use.
struct Family: Sendable {
  let name: String
  let make: @Sendable (inout Dice) -> Trace

  func trace(_ seed: Int) -> Trace {
    var dice = Dice(seed)
    var trace = make(&dice)
    trace.accesses.sort { ($0.time, $0.key) < ($1.time, $1.key) }
    return trace
  }

  static let all = steady + moving + scattered + rhythms + adversaries

  /// Milliseconds.
  static let minute = 60_000

  init(_ name: String, _ make: @escaping @Sendable (inout Dice) -> [Access]) {
    self.name = name
    self.make = { Trace(accesses: make(&$0), lifetime: Self.minute) }
  }

  /// So many accesses of these keys, each time any of them.
  static func anyOf(
    _ keys: [Int], _ count: Int, over time: Range<Int>, _ dice: inout Dice
  ) -> [Access] {
    (0..<count).map { _ in
      Access(time: time.lowerBound + dice.below(time.count), key: keys[dice.below(keys.count)])
    }
  }

  /// Each of these keys once, one after the other.
  static func walk(_ keys: [Int], at time: Int, pace: Int) -> [Access] {
    keys.enumerated().map { Access(time: time + $0.offset * pace, key: $0.element) }
  }

  /// Keys that lie in this many pages, from a place of the grid on.
  static func keys(_ count: Int, pages: Int, _ dice: inout Dice) -> [Int] {
    let first = dice.below(1000) * Trace.page
    return Array((0..<pages * Trace.page).shuffled(using: &dice).prefix(count)).sorted().map { first + $0 }
  }

  static let steady: [Family] = [
    Family("one file") { dice in anyOf([5], 400, over: 0..<40 * minute, &dice) },
    Family("a hot set in one directory") { dice in
      anyOf(keys(40, pages: 1, &dice), 2400, over: 0..<40 * minute, &dice)
    },
    Family("a small hot set, seldom") { dice in
      anyOf(keys(20, pages: 1, &dice), 1000, over: 0..<40 * minute, &dice)
    },
    Family("a hot set over neighbouring directories") { dice in
      anyOf(keys(200, pages: 5, &dice), 9000, over: 0..<40 * minute, &dice)
    },
    Family("a few less files than a page is worth") { dice in
      anyOf(keys(12, pages: 1, &dice), 1500, over: 0..<40 * minute, &dice)
    },
    Family("a few more files than a page is worth") { dice in
      anyOf(keys(15, pages: 1, &dice), 1500, over: 0..<40 * minute, &dice)
    },
    Family("a directory read over and over") { dice in
      let keys = keys(60, pages: 1, &dice)
      return (0..<40).flatMap { walk(keys, at: $0 * 75_000 + dice.below(15_000), pace: 20) }
    },
    Family("Zipf over one page") { dice in zipf(1000, 2500, 1.0, &dice) },
  ]

  static let scattered: [Family] = [
    Family("scattered among millions") { dice in
      (0..<600).map { _ in Access(time: dice.below(40 * minute), key: dice.below(5_000_000)) }
    },
    Family("fifty hot files among millions") { dice in
      anyOf((0..<50).map { _ in dice.below(5_000_000) }, 3000, over: 0..<40 * minute, &dice)
    },
    Family("Zipf over many pages") { dice in zipf(20_000, 5000, 1.1, &dice) },
    Family("pages of every warmth") { dice in
      (0..<8).flatMap { page in
        anyOf((0..<50).map { page * Trace.page + $0 }, 8 << page, over: 0..<40 * minute, &dice)
      }
    },
  ]

  /// Popularity falls with a power of the rank; ranks lie anywhere.
  static func zipf(_ keys: Int, _ count: Int, _ power: Double, _ dice: inout Dice) -> [Access] {
    var sum = 0.0
    let sums = (1...keys).map { rank -> Double in
      sum += 1 / exponentiated(Double(rank), power)
      return sum
    }
    let places = Array(0..<keys).shuffled(using: &dice)
    return (0..<count).map { _ in
      let wanted = Double.random(in: 0..<sum, using: &dice)
      var (low, high) = (0, keys - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] <= wanted { low = middle + 1 } else { high = middle }
      }
      return Access(time: dice.below(40 * minute), key: places[low])
    }
  }

  /// x to a power of 1 or a tenth more, good enough for popularity: no libm here.
  private static func exponentiated(_ x: Double, _ power: Double) -> Double {
    power > 1 ? x * x.squareRoot().squareRoot().squareRoot() : x
  }
}
