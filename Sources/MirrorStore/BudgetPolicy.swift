// Which requests a budget lets through: a value, with time passed in.
public import MirrorPlatform

/// What a request may take.
public struct Estimate: Equatable, Sendable {
  /// Its price, without the bytes of a body.
  public var usual: Spend
  /// The most: with the body.
  public var most: Spend

  public init(usual: Spend, most: Spend) {
    self.usual = usual
    self.most = most
  }
}

/// Keeps several limits at once.
///
/// No stretch of time of a limit's length sees more than the limit: what is reserved for requests under way counts too.
/// The last fifth is kept for what has nothing else to be served. The rest is paced: a tenth may go at once, then no
/// more than what lasts for the period, and less the less is left.
public struct BudgetPolicy: Sendable {
  public static let reserve = 0.2
  public static let burst = 0.1
  /// What is left for requests that can wait is never spent faster than in this part of the period.
  public static let taper = 0.1

  public private(set) var limits: [BudgetLimit]
  public var record = SpendingRecord()
  /// Of requests that are under way.
  public private(set) var reserved = Spend.nothing
  /// The latest uses of names that were answered with a stale copy for lack of money.
  private var uses = RecentUses()
  /// What may go at once, by limit, and as of when.
  private var paces: [(level: Double, at: Instant)]

  public init(_ limits: [BudgetLimit], now: Instant) {
    self.limits = limits
    paces = limits.map { (Self.capacity($0), now) }
  }

  /// Other limits from now on; what was spent counts.
  public mutating func replace(_ limits: [BudgetLimit], now: Instant) {
    self.limits = limits
    paces = limits.map { (Self.capacity($0), now) }
  }

  private static func capacity(_ limit: BudgetLimit) -> Double {
    limit.unit == .requests ? max(1, limit.amount * burst) : limit.amount * burst
  }

  /// What requests that can wait may take in a period.
  private static func share(_ limit: BudgetLimit) -> Double {
    switch limit.unit {
    case .usd: limit.amount * (1 - reserve)
    case .requests: limit.amount - (limit.amount * reserve).rounded(.down)
    }
  }

  /// In the last period, requests under way included.
  public func spent(_ limit: BudgetLimit, _ now: Instant) -> Double {
    record.spent(limit.period, before: now)[limit.unit] + reserved[limit.unit]
  }

  /// Why a request may not be sent.
  public struct Refusal: Equatable, Sendable {
    public let limit: BudgetLimit
    public let spent: Double
    /// When it could be sent, going by what is known now.
    public let wait: Duration
    /// There is some left, for what has nothing else to be served.
    public let isPutOff: Bool
  }

  /// Why the request can't be sent now; nil: it can. `key` tells one name from another.
  public func refusal(_ purpose: RequestPurpose, of key: UInt64, _ estimate: Estimate, _ now: Instant) -> Refusal? {
    for (index, limit) in limits.enumerated() {
      let spent = spent(limit, now)
      let share = purpose.isDeferrable ? Self.share(limit) : limit.amount
      let cost = estimate.most[limit.unit]
      if cost > 0, spent + cost > share {
        let wait = record.wait(limit.unit, limit.period, downTo: share - cost, from: now)
        return Refusal(limit: limit, spent: spent, wait: wait, isPutOff: spent + cost <= limit.amount)
      }
      if purpose.isDeferrable, let wait = paceWait(index, purpose, of: key, estimate.usual[limit.unit], now) {
        return Refusal(limit: limit, spent: spent, wait: wait, isPutOff: true)
      }
    }
    return nil
  }

  private func paceWait(
    _ index: Int, _ purpose: RequestPurpose, of key: UInt64, _ cost: Double, _ now: Instant
  ) -> Duration? {
    guard cost > 0 else { return nil }
    let capacity = Self.capacity(limits[index])
    let level = level(index, now)
    // A name out of use for so many lifetimes is asked for while so much of the burst is left.
    let needed = max(min(cost, capacity), capacity * (1 - Self.pressure(admitting: idleness(purpose, of: key, now))))
    guard level < needed else { return nil }
    let rate = rate(index, now)
    return rate > 0 ? .nanoseconds(Int64(min(1e9 * (needed - level) / rate, 9e18))) : limits[index].period.length
  }

  /// The pressure up to which a name is validated that nobody used for so many lifetimes: from a half on they are put
  /// off, the longest out of use first, and in the end all but those in steady use.
  static func pressure(admitting idleness: Double) -> Double { (1 + idleness / 2) / (1 + idleness) }

  /// Lifetimes, past the first, since the name was used.
  private func idleness(_ purpose: RequestPurpose, of key: UInt64, _ now: Instant) -> Double {
    // What nobody has used yet comes after all that somebody did use.
    if purpose == .ahead { return 1e9 }
    guard case .validation(let used, let lifetime) = purpose else { return 0 }
    let idle = now - max(used, uses.last(key) ?? .distantPast)
    return max(0, idle.secondsValue / max(lifetime.secondsValue, 10) - 1)
  }

  private func rate(_ index: Int, _ now: Instant) -> Double {
    let limit = limits[index]
    let length = limit.period.length.secondsValue
    let left = max(0, Self.share(limit) - spent(limit, now))
    return min(limit.amount / length, left / (length * Self.taper))
  }

  private func level(_ index: Int, _ now: Instant) -> Double {
    let elapsed = max(0, (now - paces[index].at).secondsValue)
    return min(Self.capacity(limits[index]), paces[index].level + rate(index, now) * elapsed)
  }

  /// From 0, where all is let through, to 1, where whatever can wait does.
  public func pressure(_ now: Instant) -> Double {
    limits.indices.reduce(0) { pressure, index in
      let limit = limits[index]
      if spent(limit, now) >= Self.share(limit) { return 1 }
      return max(pressure, 1 - max(0, level(index, now)) / Self.capacity(limit))
    }
  }

  /// The request is going to be sent.
  public mutating func reserve(_ estimate: Estimate, _ now: Instant) {
    for (index, limit) in limits.enumerated() {
      let capacity = Self.capacity(limit)
      paces[index] = (max(-capacity, level(index, now) - estimate.usual[limit.unit]), now)
    }
    reserved = reserved + estimate.most
  }

  /// The request is over; what it took was added to the record.
  public mutating func release(_ estimate: Estimate) {
    reserved = reserved - estimate.most
    // Sums of fractions leave a remainder, of either sign.
    if reserved.requests == 0 { reserved = .nothing }
  }

  /// A request was put off or refused: what has come in by now came at the pace of until now.
  public mutating func notePutOff(_ purpose: RequestPurpose, of key: UInt64, _ now: Instant) {
    for index in limits.indices { paces[index] = (level(index, now), now) }
    if purpose != .ahead { uses.note(key, now) }
  }
}

/// When names were last used, of the many thousand latest.
private struct RecentUses {
  private static let limit = 1 << 15
  private var young: [UInt64: Instant] = [:]
  private var old: [UInt64: Instant] = [:]

  func last(_ key: UInt64) -> Instant? { young[key] ?? old[key] }

  mutating func note(_ key: UInt64, _ now: Instant) {
    if young.count >= Self.limit {
      old = young
      young = [:]
    }
    young[key] = now
  }
}

extension BudgetPolicy.Refusal {
  /// In words, for the log and for `explain`.
  var text: String {
    let when = "in \(formatDuration(max(.seconds(1), wait)))"
    let used = "\(limit.text(max(0, spent))) in the last \(limit.period.rawValue)"
    return isPutOff
      ? "the budget of \(limit) is short (\(used)), and the rest is kept for what is not cached; it can be asked \(when)"
      : "the budget of \(limit) is spent (\(used)); there is money again \(when)"
  }
}
