// What was spent, by sixtieths of each period: enough to tell the sum of any stretch of time, from above.
public import MirrorPlatform

public struct SpendingRecord: Equatable, Sendable {
  /// Slices that a period is cut into.
  public static let slices: Int64 = 60

  struct Slice: Equatable {
    /// Its end, in slices since the clock's zero.
    let end: Int64
    var spend: Spend
  }
  /// By period, in order of time, none of them empty.
  private var periods: [[Slice]] = BudgetLimit.Period.allCases.map { _ in [] }

  public init() {}

  static func width(_ period: BudgetLimit.Period) -> Int64 { period.length.nanosecondsClamped / slices }

  func slices(of period: BudgetLimit.Period) -> [Slice] { periods[period.index] }

  /// Spent at this moment, which is not before what was added last.
  public mutating func add(_ spend: Spend, at now: Instant) {
    guard spend != .nothing else { return }
    for period in BudgetLimit.Period.allCases { add(spend, at: now, in: period) }
  }

  mutating func add(_ spend: Spend, at now: Instant, in period: BudgetLimit.Period) {
    let (end, index) = (now.nanoseconds / Self.width(period) + 1, period.index)
    if let last = periods[index].last, last.end >= end {
      periods[index][periods[index].count - 1].spend = last.spend + spend
    } else {
      periods[index].removeAll { Self.isOver($0, period, now) }
      periods[index].append(Slice(end: end, spend: spend))
    }
  }

  /// No moment of the slice lies within the period before `now`.
  private static func isOver(_ slice: Slice, _ period: BudgetLimit.Period, _ now: Instant) -> Bool {
    now - Instant(nanoseconds: slice.end * width(period)) >= period.length
  }

  /// In the last period, and up to a sixtieth more.
  public func spent(_ period: BudgetLimit.Period, before now: Instant) -> Spend {
    var sum = Spend.nothing
    for slice in periods[period.index] where !Self.isOver(slice, period, now) { sum = sum + slice.spend }
    return sum
  }

  /// How long until no more than `amount` counts, if nothing is spent meanwhile.
  func wait(_ unit: BudgetLimit.Unit, _ period: BudgetLimit.Period, downTo amount: Double, from now: Instant)
    -> Duration
  {
    var left = spent(period, before: now)[unit]
    for slice in slices(of: period) where !Self.isOver(slice, period, now) {
      if left <= amount { break }
      left -= slice.spend[unit]
      if left <= amount + 1e-12 {
        return Instant(nanoseconds: slice.end * Self.width(period)) + period.length - now
      }
    }
    return left <= amount + 1e-12 ? .zero : period.length
  }
}

extension BudgetLimit.Period {
  fileprivate var index: Int {
    switch self {
    case .minute: 0
    case .hour: 1
    case .day: 2
    case .month: 3
    }
  }
}
