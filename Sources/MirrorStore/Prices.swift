// What requests and bytes cost, by default in us-east-1, and how prices are written.
import MirrorPlatform

/// Prices in USD.
public struct Prices: Equatable, Sendable {
  /// Of one GET of an object in S3 Standard, and of whatever has no price of its own.
  public var perGet = 0.0004 / 1000
  /// Of one HEAD of an object in S3 Standard; nil: as a GET.
  public var headPrice: Double?
  public var perList = 0.005 / 1000
  /// Traffic to where this runs; nothing within a region.
  public var perByteReceived = 0.0
  /// Reads of objects in other classes. https://aws.amazon.com/s3/pricing
  public var classes: [StorageClass: ClassPrices] = [
    .standardIA: ClassPrices(perRequest: 0.001 / 1000, perByteRetrieved: 0.01 / 1e9),
    .oneZoneIA: ClassPrices(perRequest: 0.001 / 1000, perByteRetrieved: 0.01 / 1e9),
    .glacierIR: ClassPrices(perRequest: 0.01 / 1000, perByteRetrieved: 0.03 / 1e9),
    .expressOneZone: ClassPrices(
      perRequest: 0.00003 / 1000, perByteRetrieved: 0.0006 / 1e9, perList: 0.00113 / 1000),
  ]
  public init() {}

  public struct ClassPrices: Equatable, Sendable {
    /// Of one GET or HEAD.
    public var perRequest: Double
    /// Of a byte of content, beside what traffic costs.
    public var perByteRetrieved: Double
    /// Of a LIST, in buckets that have this class alone.
    public var perList: Double?
  }

  /// Those of a bucket whose objects are all of one class.
  public func ofBucket(_ storageClass: StorageClass) -> Prices {
    guard let own = classes[storageClass] else { return self }
    var prices = self
    prices.perGet = own.perRequest
    prices.headPrice = nil
    prices.perList = own.perList ?? perList
    prices.perByteReceived += own.perByteRetrieved
    return prices
  }

  public var perHead: Double { headPrice ?? perGet }

  /// Of one request of an object in S3 Standard.
  public func of(_ kind: RequestKind) -> Double { of(kind, .standard) }

  public func of(_ kind: RequestKind, _ storageClass: StorageClass) -> Double {
    switch kind {
    case .list: classes[storageClass]?.perList ?? perList
    case .other: classes[storageClass]?.perRequest ?? perGet
    case .get: classes[storageClass]?.perRequest ?? perGet
    case .head: classes[storageClass]?.perRequest ?? perHead
    }
  }

  /// Of requests of one class; nothing where S3 does not charge.
  public func cost(_ requests: RequestClass, _ tally: Tally) -> Double {
    guard requests.outcome.isBilled else { return 0 }
    var perByte = perByteReceived
    if requests.kind == .get, requests.outcome == .success {
      perByte += classes[requests.storageClass]?.perByteRetrieved ?? 0
    }
    return Double(tally.requests) * of(requests.kind, requests.storageClass) + Double(tally.bytes) * perByte
  }
}

// MARK: Prices by name
extension Prices {
  /// Each price with its name: USD of one request, or of one byte.
  public var named: [(name: String, usd: Double)] {
    var list = [("get", perGet), ("head", perHead), ("list", perList), ("egress", perByteReceived)]
    for storageClass in StorageClass.allCases {
      guard let prices = classes[storageClass] else { continue }
      list.append(("get:\(storageClass.rawValue)", prices.perRequest))
      list.append(("retrieval:\(storageClass.rawValue)", prices.perByteRetrieved))
      if let perList = prices.perList { list.append(("list:\(storageClass.rawValue)", perList)) }
    }
    return list.map { (name: $0.0, usd: $0.1) }
  }

  /// Those that make these of the usual ones.
  public var changed: [(name: String, usd: Double)] {
    zip(named, Prices().named).filter { $0.name == "head" ? headPrice != nil : $0.usd != $1.usd }.map(\.0)
  }

  /// Sets a price by its name; false where there is no such price.
  public mutating func set(_ name: String, _ usd: Double) -> Bool {
    switch name {
    case "get": perGet = usd
    case "head": headPrice = usd
    case "list": perList = usd
    case "egress": perByteReceived = usd
    default:
      let parts = name.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, let storageClass = StorageClass(rawValue: parts[1].uppercased()),
        classes[storageClass] != nil
      else { return false }
      switch parts[0] {
      case "get": classes[storageClass]?.perRequest = usd
      case "retrieval": classes[storageClass]?.perByteRetrieved = usd
      case "list" where classes[storageClass]?.perList != nil: classes[storageClass]?.perList = usd
      default: return false
      }
    }
    return true
  }

  /// USD; keeps quotients of prices within the range of integers.
  private static let highest = 1e6

  private static func isOfBytes(_ name: String) -> Bool { name == "egress" || name.hasPrefix("retrieval:") }

  /// Takes over `NAME=USD/1000` of requests, `NAME=USD/GB` of bytes, and `none`, for which nothing costs anything.
  public mutating func set(_ text: String) throws(PriceError) {
    if text == "none" {
      for (name, _) in named { _ = set(name, 0) }
      return
    }
    guard let equals = text.firstIndex(of: "=") else { throw PriceError("a price is NAME=USD: get=0.0004/1000") }
    let name = String(text[..<equals])
    let value = text[text.index(after: equals)...].split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let amount = Self.number(value[0]) else {
      throw PriceError("'\(value[0])' is no amount of USD; a price is written 0.0004/1000 or 0.09/GB")
    }
    let unit = value.count == 2 ? String(value[1]) : nil
    let quantity = Self.isOfBytes(name) ? Self.bytes(unit, amount) : Self.count(unit)
    guard let quantity else {
      throw PriceError(
        Self.isOfBytes(name)
          ? "\(name) is a price of bytes: \(name)=0.09/GB" : "\(name) is a price of requests: \(name)=0.0004/1000")
    }
    let usd = amount / quantity
    guard usd <= Self.highest else { throw PriceError("'\(text)' is more than anyone asks") }
    guard set(name, usd) else {
      throw PriceError("there is no price '\(name)'; there are \(Prices().named.map(\.name).joined(separator: ", "))")
    }
  }

  private static func number(_ text: Substring) -> Double? {
    guard !text.isEmpty, text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
    return Double(text)
  }

  /// Requests; one where nothing is said.
  private static func count(_ unit: String?) -> Double? {
    guard let unit else { return 1 }
    return number(unit[...]).flatMap { $0 > 0 ? $0 : nil }
  }

  /// Bytes of `GB`, `TiB`, `10GB`; a bare number would hardly be meant for one byte, unless it is zero.
  private static func bytes(_ unit: String?, _ amount: Double) -> Double? {
    guard let unit else { return amount == 0 ? 1 : nil }
    let text = unit.first?.isNumber == true ? unit : "1" + unit
    return ByteCount(parsing: text).flatMap { $0.bytes > 0 ? Double($0.bytes) : nil }
  }
}

/// What is wrong with a price as it was written.
public struct PriceError: Error, Equatable {
  public let message: String
  init(_ message: String) { self.message = message }
}
