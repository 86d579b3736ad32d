// The requests of the last hour, by minute: the rate at which money is being spent now.
import MirrorPlatform

/// Requests over a stretch of time.
public struct MeasuredRequests: Equatable, Sendable {
  public let counts: RequestCounts
  public let span: Duration

  public init(counts: RequestCounts, span: Duration) {
    self.counts = counts
    self.span = span
  }

  /// USD of so long at this rate; nil where nothing was measured yet.
  public func cost(of time: Duration, _ prices: Prices) -> Double? {
    span > .zero ? counts.cost(prices) / span.secondsValue * time.secondsValue : nil
  }

  /// Requests in so long at this rate.
  public func requests(in time: Duration) -> Double? {
    span > .zero ? Double(counts.total) / span.secondsValue * time.secondsValue : nil
  }
}

struct RecentRequests {
  private static let minute: Int64 = 60_000_000_000
  private static let kept: Int64 = 60
  private let start: Instant
  /// Minutes with requests, in order.
  private var minutes: [(number: Int64, counts: RequestCounts)] = []

  init(since start: Instant) { self.start = start }

  mutating func add(_ requests: RequestClass, _ tally: Tally, at now: Instant) {
    let number = now.nanoseconds / Self.minute
    if minutes.last?.number != number {
      minutes.removeAll { $0.number <= number - Self.kept }
      minutes.append((number, RequestCounts()))
    }
    minutes[minutes.count - 1].counts.add(requests, tally)
  }

  /// Of the last hour, or since the start where that is less.
  func measured(at now: Instant) -> MeasuredRequests {
    let first = now.nanoseconds / Self.minute - Self.kept + 1
    let counts = minutes.filter { $0.number >= first }.reduce(RequestCounts()) { $0 + $1.counts }
    return MeasuredRequests(counts: counts, span: now - max(start, Instant(nanoseconds: first * Self.minute)))
  }
}
