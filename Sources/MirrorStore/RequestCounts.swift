// How many requests of each class, with their bytes: what is added up, priced and told.

/// Attempts and the bytes of the bodies that came.
public struct Tally: Equatable, Sendable {
  public var requests: Int
  public var bytes: Int64

  public init(requests: Int, bytes: Int64) {
    self.requests = requests
    self.bytes = bytes
  }

  public static func + (a: Tally, b: Tally) -> Tally {
    Tally(requests: a.requests + b.requests, bytes: a.bytes + b.bytes)
  }
}

/// Attempts since some beginning.
public struct RequestCounts: Equatable, Sendable {
  public private(set) var tallies: [RequestClass: Tally] = [:]
  public init() {}

  public var gets: Int { requests { $0.kind == .get } }
  public var heads: Int { requests { $0.kind == .head } }
  public var lists: Int { requests { $0.kind == .list } }
  public var others: Int { requests { $0.kind == .other } }
  public var notModified: Int { requests { $0.outcome == .notModified } }
  /// Attempts without an answer or with one of 400 and above, a 404 and 412 excepted: these are answers.
  public var failed: Int { requests { $0.outcome.isFailure } }
  /// Attempts that S3 charges for.
  public var billed: Int { requests { $0.outcome.isBilled } }
  public var total: Int { requests { _ in true } }
  public var bytesReceived: Int64 { tallies.values.reduce(0) { $0 + $1.bytes } }

  /// Those of the classes that `isMeant`.
  public func requests(_ isMeant: (RequestClass) -> Bool) -> Int {
    tallies.reduce(0) { isMeant($1.key) ? $0 + $1.value.requests : $0 }
  }

  /// USD.
  public func cost(_ prices: Prices) -> Double { tallies.reduce(0) { $0 + prices.cost($1.key, $1.value) } }

  /// One attempt; `status` 0 where no answer came.
  public mutating func add(_ kind: RequestKind, status: Int, bytes: Int64, storageClass: StorageClass = .standard) {
    add(RequestClass(kind, RequestOutcome(status: status), storageClass), Tally(requests: 1, bytes: bytes))
  }

  public mutating func add(_ requests: RequestClass, _ tally: Tally) {
    tallies[requests] = tallies[requests].map { $0 + tally } ?? tally
  }

  public static func + (a: RequestCounts, b: RequestCounts) -> RequestCounts {
    var sum = a
    for (requests, tally) in b.tallies { sum.add(requests, tally) }
    return sum
  }
}
