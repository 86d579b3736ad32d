// The ledger and its prices in the catalogue's tables.
import MirrorStore

extension ClosedRange<Int64> {
  /// Of all time.
  public static var allDays: ClosedRange<Int64> { Int64.min...Int64.max }
}

extension CatalogueStore {
  func add(_ entries: LedgerEntries) throws(SQLiteError) {
    let query = try statement(.addLedger)
    for (entry, tally) in entries {
      query.bind(1, entry.day)
      query.bind(2, entry.prefix.bytes[...])
      query.bind(3, text: entry.requests.kind.rawValue)
      query.bind(4, text: entry.requests.outcome.rawValue)
      query.bind(5, text: entry.requests.storageClass.rawValue)
      query.bind(6, Int64(tally.requests))
      query.bind(7, tally.bytes)
      try query.run()
    }
  }

  /// A catalogue of version 1 is read too: for those who only look.
  func ledger(_ days: ClosedRange<Int64>) throws(SQLiteError) -> LedgerEntries {
    let isFirst = try isOfFirstVersion
    let query =
      isFirst
      ? try connection.prepare(
        "SELECT \(Query.ledgerColumns) FROM (\(Schema.firstLedger(table: "ledger"))) WHERE day >= ?1 AND day <= ?2")
      : try statement(.readLedger)
    query.bind(1, days.lowerBound)
    query.bind(2, days.upperBound)
    var entries: LedgerEntries = [:]
    while try query.step() {
      let requests = RequestClass(
        query.text(2).flatMap(RequestKind.init(rawValue:)) ?? .other,
        query.text(3).flatMap(RequestOutcome.init(rawValue:)) ?? .success, StorageClass(query.text(4)))
      let entry = LedgerEntry(day: query.int(0), prefix: ObjectKey(query.bytes(1)), requests)
      let tally = Tally(requests: Int(query.count(5)), bytes: query.count(6))
      entries[entry] = entries[entry].map { $0 + tally } ?? tally
    }
    return entries
  }

  func put(_ prices: Prices) throws(SQLiteError) {
    try statement(.removePrices).run()
    let query = try statement(.addPrice)
    for (name, usd) in prices.changed {
      query.bind(1, text: name)
      query.bind(2, text: "\(usd)")
      try query.run()
    }
  }

  func prices() throws(SQLiteError) -> Prices {
    var prices = Prices()
    if try isOfFirstVersion { return prices }
    let query = try statement(.readPrices)
    while try query.step() {
      if let name = query.text(0), let usd = query.text(1).flatMap(Double.init) { _ = prices.set(name, usd) }
    }
    return prices
  }

  private var isOfFirstVersion: Bool { get throws(SQLiteError) { try meta(.version) == 1 } }
}
