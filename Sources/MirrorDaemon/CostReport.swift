// What `cost` says of one source: the sums of its ledger, priced, and what they make expect.
public import MirrorPlatform
public import MirrorStore

public struct CostReport: Sendable {
  /// What only a running mount knows.
  public struct Running: Sendable {
    public var mountPoint: String
    public var since: WallTime
    /// All since mount.
    public var sinceMount: MeasuredRequests
    /// Of the last hour.
    public var recent: MeasuredRequests
    /// Look-ups answered without a request, as far as they were seen.
    public var unasked: Int
  }

  public var source: String
  public var endpoint: String
  public var directory: String
  public var prices: Prices
  public var now: WallTime
  /// Of the days of `period` at least.
  public var entries: LedgerEntries
  public var running: Running?

  public init(
    source: String, endpoint: String, directory: String, prices: Prices, now: WallTime, entries: LedgerEntries,
    running: Running? = nil
  ) {
    self.source = source
    self.endpoint = endpoint
    self.directory = directory
    self.prices = prices
    self.now = now
    self.entries = entries
    self.running = running
  }

  /// The days that a report of this moment is about: the last 31, this month among them.
  public static func period(at now: WallTime) -> ClosedRange<Int64> { Ledger.day(now) - 30...Ledger.day(now) }

  /// 30 days: what a monthly rate is told for.
  static let month = Duration.seconds(30 * 86400)
}

// MARK: Sums
extension CostReport {
  var monthToDate: RequestCounts {
    let month = BillingMonth(at: now)
    return sum { $0.day >= month.firstDay && $0.day <= month.today }
  }

  var today: RequestCounts { sum { $0.day == Ledger.day(now) } }

  /// Each day from the first with requests to today.
  var days: [(day: Int64, counts: RequestCounts)] {
    let known = grouped { $0.day }
    guard let first = known.keys.min() else { return [] }
    return (first...Ledger.day(now)).map { ($0, known[$0] ?? RequestCounts()) }
  }

  /// The dearest first; those that have no place of their own come last.
  var prefixes: [(prefix: ObjectKey, counts: RequestCounts)] {
    grouped { $0.prefix }.map { (prefix: $0.key, counts: $0.value, cost: $0.value.cost(prices)) }.sorted { a, b in
      let isRest = (a.prefix == LedgerEntry.rest, b.prefix == LedgerEntry.rest)
      if isRest.0 != isRest.1 { return isRest.1 }
      return a.cost != b.cost ? a.cost > b.cost : a.prefix < b.prefix
    }.map { ($0.prefix, $0.counts) }
  }

  private var inPeriod: LedgerEntries {
    let period = Self.period(at: now)
    return entries.filter { period.contains($0.key.day) }
  }

  private func sum(_ isMeant: (LedgerEntry) -> Bool) -> RequestCounts {
    var counts = RequestCounts()
    for (entry, tally) in entries where isMeant(entry) { counts.add(entry.requests, tally) }
    return counts
  }

  private func grouped<Group: Hashable>(_ group: (LedgerEntry) -> Group) -> [Group: RequestCounts] {
    var groups: [Group: RequestCounts] = [:]
    for (entry, tally) in inPeriod { groups[group(entry), default: RequestCounts()].add(entry.requests, tally) }
    return groups
  }
}

// MARK: What is to be expected
extension CostReport {
  /// What a projection goes by.
  enum Basis: Equatable {
    /// So many whole days before today.
    case days(Int)
    /// So much of the running mount.
    case recent(Duration)

    var text: String {
      switch self {
      case .days(1): "by yesterday"
      case .days(let count): "by the last \(count) whole days"
      case .recent(let span): "by the last \(formatDuration(span))"
      }
    }
  }

  struct Projection: Equatable {
    let basis: Basis
    let rate: MeasuredRequests
    /// USD of the calendar month.
    let cost: Double
  }

  /// Whole days tell more than minutes do, of which the first cost most: there everything is new.
  private static let manyDays = 7

  /// What this calendar month will cost; nil where too little is known.
  var projection: Projection? {
    let today = Ledger.day(now)
    var basis: Basis?
    var rate: MeasuredRequests?
    // The day on which the ledger begins is not a whole one.
    if let first = entries.keys.map(\.day).min(), today - first >= 2 {
      let count = min(Int64(Self.manyDays), today - first - 1)
      let counts = sum { $0.day >= today - count && $0.day < today }
      basis = .days(Int(count))
      rate = MeasuredRequests(counts: counts, span: .seconds(count * 86400))
    } else if let running, running.recent.span >= .seconds(60) {
      basis = .recent(running.recent.span)
      rate = running.recent
    }
    guard let basis, let rate, let rest = rate.cost(of: BillingMonth(at: now).rest, prices) else { return nil }
    return Projection(basis: basis, rate: rate, cost: monthToDate.cost(prices) + rest)
  }

  /// USD since mount that one GET at every look-up would have cost more, as far as look-ups are seen.
  var saved: Double? { running.map { Double($0.unasked) * prices.perGet } }
}
