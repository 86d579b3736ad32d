// What was asked of the origin and what it costs: every attempt, counted where it is sent.
public import MirrorPlatform
import Synchronization

public enum RequestKind: String, CaseIterable, Sendable { case get, head, list, other }

/// Prices in USD, by default those of us-east-1 (S3 Standard).
public struct Prices: Sendable {
  public var perGet = 0.0004 / 1000
  public var perList = 0.005 / 1000
  public var perByteReceived = 0.0
  public init() {}

  public func of(_ kind: RequestKind) -> Double { kind == .list ? perList : perGet }
}

/// Attempts since some beginning.
public struct RequestCounts: Equatable, Sendable {
  public var gets = 0
  public var heads = 0
  public var lists = 0
  public var others = 0
  public var notModified = 0
  /// Attempts without an answer or with one of 400 and above, a 404 and 412 excepted: these are answers.
  public var failed = 0
  public var bytesReceived: Int64 = 0
  public init() {}

  public var total: Int { gets + heads + lists + others }

  public func cost(_ prices: Prices) -> Double {
    Double(gets + heads + others) * prices.perGet + Double(lists) * prices.perList
      + Double(bytesReceived) * prices.perByteReceived
  }

  public mutating func add(_ kind: RequestKind, status: Int, bytes: Int64) {
    switch kind {
    case .get: gets += 1
    case .head: heads += 1
    case .list: lists += 1
    case .other: others += 1
    }
    if status == 304 { notModified += 1 }
    if status == 0 || (status >= 400 && status != 404 && status != 412) { failed += 1 }
    bytesReceived += bytes
  }

  public static func + (a: RequestCounts, b: RequestCounts) -> RequestCounts {
    var sum = a
    sum.gets += b.gets
    sum.heads += b.heads
    sum.lists += b.lists
    sum.others += b.others
    sum.notModified += b.notModified
    sum.failed += b.failed
    sum.bytesReceived += b.bytesReceived
    return sum
  }
}

/// Counts every attempt that was sent, since mount and by UTC day for the catalogue to keep.
public final class Ledger: Sendable {
  private struct State {
    var sinceMount = RequestCounts()
    var unsaved: [Int64: RequestCounts] = [:]
  }
  private let state = Mutex(State())
  private let clock: any Clock
  public let prices: Prices

  public init(prices: Prices = Prices(), clock: any Clock = SystemClock()) {
    self.prices = prices
    self.clock = clock
  }

  /// One attempt whose request was sent; `status` 0 where no answer came, `bytes` of the body received.
  public func record(_ kind: RequestKind, status: Int, bytes: Int64) {
    let day = clock.wall().seconds / 86400
    state.withLock {
      $0.sinceMount.add(kind, status: status, bytes: bytes)
      $0.unsaved[day, default: RequestCounts()].add(kind, status: status, bytes: bytes)
    }
  }

  public var sinceMount: RequestCounts { state.withLock { $0.sinceMount } }

  /// The counts by UTC day (days since 1970) since the last call: to be added to those on disk.
  public func takeUnsaved() -> [Int64: RequestCounts] {
    state.withLock { state in
      defer { state.unsaved = [:] }
      return state.unsaved
    }
  }

  /// Puts back what could not be saved.
  public func putBack(_ counts: [Int64: RequestCounts]) {
    state.withLock { state in state.unsaved.merge(counts, uniquingKeysWith: +) }
  }
}
