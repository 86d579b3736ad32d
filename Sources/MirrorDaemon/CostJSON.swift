// `cost --json`: one object a source, with the members that the manual names.
public import MirrorPlatform
import MirrorStore

extension CostReport {
  public var json: JSON {
    .object([
      ("source", .string(source)), ("endpoint", .string(endpoint)), ("directory", .string(directory)),
      ("mountpoint", running.map { .string($0.mountPoint) } ?? .null),
      ("since", running.map { .string(rfc3339($0.since)) } ?? .null), ("currency", .string("USD")),
      ("prices", .object(prices.named.map { ($0.name, .decimal($0.usd, places: 15)) })),
      ("today", .object(members(today))), ("monthToDate", .object(members(monthToDate))),
      ("sinceMount", running.map { .object(members($0.sinceMount.counts)) } ?? .null),
      ("projection", projection.map(json) ?? .null),
      ("rate", running.map { .object([("sinceMount", rate($0.sinceMount)), ("recent", rate($0.recent))]) } ?? .null),
      ("saved", running.map(saved) ?? .null),
      ("days", .array(days.map { .object([("day", .string(date($0.day)))] + members($0.counts)) })),
      ("prefixes", .array(prefixes.map { .object([prefixMember($0.prefix)] + members($0.counts)) })),
    ])
  }

  private func date(_ day: Int64) -> String { String(Timestamp(seconds: day * 86400).rfc3339.prefix(10)) }
  private func usd(_ value: Double) -> JSON { .decimal(value, places: 9) }

  private func members(_ counts: RequestCounts) -> [(String, JSON)] {
    [
      ("get", .int(Int64(counts.gets))), ("head", .int(Int64(counts.heads))), ("list", .int(Int64(counts.lists))),
      ("other", .int(Int64(counts.others))), ("notModified", .int(Int64(counts.notModified))),
      ("failed", .int(Int64(counts.failed))), ("billed", .int(Int64(counts.billed))),
      ("bytesReceived", .int(counts.bytesReceived)), ("cost", usd(counts.cost(prices))),
      ("classes", .array(classes(counts))),
    ]
  }

  /// In the order of their names.
  private func classes(_ counts: RequestCounts) -> [JSON] {
    let sorted = counts.tallies.map { (names: names($0.key), requests: $0.key, tally: $0.value) }
      .sorted { $0.names.lexicographicallyPrecedes($1.names) }
    return sorted.map { names, requests, tally in
      .object([
        ("kind", .string(names[0])), ("outcome", .string(names[1])), ("storageClass", .string(names[2])),
        ("requests", .int(Int64(tally.requests))), ("bytes", .int(tally.bytes)),
        ("cost", usd(prices.cost(requests, tally))),
      ])
    }
  }

  private func names(_ requests: RequestClass) -> [String] {
    [requests.kind.rawValue, requests.outcome.rawValue, requests.storageClass.rawValue]
  }

  private func prefixMember(_ prefix: ObjectKey) -> (String, JSON) {
    if let text = prefix.text { return ("prefix", .string(text)) }
    return ("prefixBase64", .string(base64(prefix.bytes)))
  }

  private func json(_ projection: Projection) -> JSON {
    let basis: String
    switch projection.basis {
    case .days: basis = "days"
    case .recent: basis = "recent"
    }
    return .object([
      ("month", .string(BillingMonth(at: now).name)), ("cost", usd(projection.cost)), ("basis", .string(basis)),
      ("seconds", .decimal(projection.rate.span.secondsValue, places: 3)),
    ])
  }

  private func saved(_ running: Running) -> JSON {
    .object([("lookups", .int(Int64(running.unasked))), ("cost", usd(saved ?? 0))])
  }

  /// A month of 30 days at the rate measured.
  private func rate(_ measured: MeasuredRequests) -> JSON {
    .object([
      ("seconds", .decimal(measured.span.secondsValue, places: 3)), ("requests", .int(Int64(measured.counts.total))),
      ("cost", usd(measured.counts.cost(prices))),
      ("requestsPerMonth", measured.requests(in: Self.month).map { .decimal($0, places: 0) } ?? .null),
      ("costPerMonth", measured.cost(of: Self.month, prices).map(usd) ?? .null),
    ])
  }
}
