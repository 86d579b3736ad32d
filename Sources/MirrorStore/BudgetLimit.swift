// One limit of spending, and how it is written: `5USD/month`, `2000req/hour`.
import MirrorPlatform

/// At most so much in any stretch of time of this length.
public struct BudgetLimit: Hashable, Sendable, CustomStringConvertible {
  public enum Unit: String, CaseIterable, Sendable {
    case usd = "USD"
    case requests = "req"
  }

  public enum Period: String, CaseIterable, Sendable {
    case minute, hour, day, month

    /// A month has 31 days, so that the limit holds for each of the calendar.
    public var length: Duration {
      switch self {
      case .minute: .seconds(60)
      case .hour: .seconds(3600)
      case .day: .seconds(86400)
      case .month: .seconds(31 * 86400)
      }
    }
  }

  public let amount: Double
  public let unit: Unit
  public let period: Period

  public init(_ amount: Double, _ unit: Unit, per period: Period) {
    self.amount = amount
    self.unit = unit
    self.period = period
  }

  /// `AMOUNT(USD|req)/(minute|hour|day|month)`; throws what is wrong with it, in words.
  public init(parsing text: String) throws(BudgetError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let digits = parts[0].prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard parts.count == 2, let amount = Double(String(digits)), amount.isFinite, amount <= 1e12 else {
      throw BudgetError("a budget is AMOUNT/PERIOD: 5USD/month, 2000req/hour")
    }
    let unit = parts[0][digits.endIndex...].lowercased()
    switch unit {
    case "usd": self.unit = .usd
    case "req": self.unit = .requests
    default: throw BudgetError("a budget is an amount of USD or of requests: 5USD/month, 2000req/hour")
    }
    guard let period = Period(rawValue: parts[1].lowercased()) else {
      throw BudgetError("the period is one of \(Period.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    guard amount > 0 else { throw BudgetError("a budget of nothing is --offline") }
    guard self.unit == .usd || amount == amount.rounded() else { throw BudgetError("there is no part of a request") }
    self.amount = amount
    self.period = period
  }

  public var description: String { "\(Self.number(amount, unit))\(unit.rawValue)/\(period.rawValue)" }

  /// An amount of this unit, for people.
  public func text(_ value: Double) -> String {
    switch unit {
    case .usd: "\(decimal(value, places: value < 1 ? 6 : 2)) USD"
    case .requests: value == 1 ? "1 request" : "\(decimal(value, places: 0)) requests"
    }
  }

  private static func number(_ value: Double, _ unit: Unit) -> String {
    if value == value.rounded() { return decimal(value, places: 0) }
    var text = decimal(value, places: 9)
    while text.last == "0" { text.removeLast() }
    return text
  }
}

/// What is wrong with a budget as it was written.
public struct BudgetError: Error, Equatable {
  public let message: String
  init(_ message: String) { self.message = message }
}

/// What requests take from a budget.
public struct Spend: Equatable, Sendable {
  public var requests: Int
  public var usd: Double
  public static let nothing = Spend(requests: 0, usd: 0)

  public init(requests: Int, usd: Double) {
    self.requests = requests
    self.usd = usd
  }

  public subscript(unit: BudgetLimit.Unit) -> Double {
    switch unit {
    case .usd: usd
    case .requests: Double(requests)
    }
  }

  public static func + (a: Spend, b: Spend) -> Spend { Spend(requests: a.requests + b.requests, usd: a.usd + b.usd) }
  public static func - (a: Spend, b: Spend) -> Spend { Spend(requests: a.requests - b.requests, usd: a.usd - b.usd) }
}
