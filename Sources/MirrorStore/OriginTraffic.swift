// What counts of requests do not tell of the origin: what is under way, how long answers take, what was asked again.
public import MirrorPlatform
import Synchronization

/// A request that was sent and is not over.
public struct RequestUnderWay: Equatable, Sendable {
  public let kind: RequestKind
  /// The object, or what listed keys begin with.
  public let key: ObjectKey
  public let began: Instant
  /// Bytes of the body that have come.
  public let received: Int64
  /// All bytes of the body; nil before its head.
  public let expected: Int64?

  public init(kind: RequestKind, key: ObjectKey, began: Instant, received: Int64, expected: Int64?) {
    self.kind = kind
    self.key = key
    self.began = began
    self.received = received
    self.expected = expected
  }
}

/// Watches the requests of one mount. Safe to share.
public final class OriginTraffic: Sendable {
  public struct Report: Equatable, Sendable {
    /// Requests that were sent once more because the first attempt failed.
    public var retries = 0
    /// From sending a request to the head of its answer, by kind.
    public var waits: [RequestKind: WaitHistogram] = [:]
    /// The oldest first.
    public var underWay: [RequestUnderWay] = []

    public init() {}
  }

  /// One request on its way.
  final class Passage: Sendable {
    let kind: RequestKind
    let key: ObjectKey
    let began: Instant
    let received = Atomic<Int64>(0)
    /// Negative before the head.
    let expected = Atomic<Int64>(-1)
    let isAnswered = Atomic(false)

    init(_ kind: RequestKind, _ key: ObjectKey, began: Instant) {
      self.kind = kind
      self.key = key
      self.began = began
    }
  }

  private struct State {
    var retries = 0
    var waits: [RequestKind: WaitHistogram] = [:]
    var passages: [ObjectIdentifier: Passage] = [:]
  }
  private let state = Mutex(State())
  private let clock: any Clock

  public init(clock: any Clock = SystemClock()) { self.clock = clock }

  public var report: Report {
    let (retries, waits, passages) = state.withLock { ($0.retries, $0.waits, Array($0.passages.values)) }
    var report = Report()
    report.retries = retries
    report.waits = waits
    report.underWay = passages.sorted { ($0.began, $0.key) < ($1.began, $1.key) }.map { passage in
      let expected = passage.expected.load(ordering: .relaxed)
      return RequestUnderWay(
        kind: passage.kind, key: passage.key, began: passage.began,
        received: passage.received.load(ordering: .relaxed), expected: expected < 0 ? nil : expected)
    }
    return report
  }

  func noteRetry() { state.withLock { $0.retries += 1 } }

  func begin(_ kind: RequestKind, _ key: ObjectKey) -> Passage {
    let passage = Passage(kind, key, began: clock.now())
    state.withLock { $0.passages[ObjectIdentifier(passage)] = passage }
    return passage
  }

  /// The head of an answer has come; the first one counts.
  func answered(_ passage: Passage) {
    guard !passage.isAnswered.exchange(true, ordering: .relaxed) else { return }
    let wait = clock.now() - passage.began
    state.withLock { $0.waits[passage.kind, default: WaitHistogram()].add(wait) }
  }

  func end(_ passage: Passage) { state.withLock { $0.passages[ObjectIdentifier(passage)] = nil } }
}
