// When to ask again: the AWS SDKs' standard mode (three attempts, full jitter, a shared quota).
import MirrorPlatform
import Synchronization

/// Decides, with attempt numbers and randomness passed in, whether and when to try again.
public struct RetryPolicy: Sendable {
  public var maximumAttempts: Int
  /// Of an origin that says itself that it can't just now (throttling, 5xx): a reader rather waits than fails.
  public var attemptsWhileBusy: Int
  public var cap: Duration
  public init(maximumAttempts: Int = 3, attemptsWhileBusy: Int? = nil, cap: Duration = .seconds(20)) {
    self.maximumAttempts = maximumAttempts
    self.attemptsWhileBusy = attemptsWhileBusy ?? maximumAttempts
    self.cap = cap
  }

  /// The pause before the next attempt, or nil to give up; `random` in [0, 1).
  public func delay(after error: StoreError, attempt: Int, random: Double) -> Duration? {
    let isBusy = error.code == .throttled || error.code == .serverError
    guard error.isRetryable, attempt < (isBusy ? attemptsWhileBusy : maximumAttempts) else { return nil }
    let ceiling = min(cap.secondsValue, Double(1 << min(attempt - 1, 20)))
    var pause = Duration.nanoseconds(Int64(random * ceiling * 1e9))
    if let floor = error.retryAfter { pause = max(pause, min(floor, cap)) }
    return pause
  }
}

/// The retry quota: retries spend from it, successes pay back, so that a dead origin is not asked threefold.
public final class RetryQuota: Sendable {
  private let tokens: Mutex<Int>
  private let capacity: Int
  public init(capacity: Int = 500) {
    self.capacity = capacity
    tokens = Mutex(capacity)
  }

  public func take(for error: StoreError) -> Bool {
    let cost = error.code == .timeout ? 10 : 5
    return tokens.withLock {
      guard $0 >= cost else { return false }
      $0 -= cost
      return true
    }
  }

  public func repay(retried: Bool) { tokens.withLock { $0 = min(capacity, $0 + (retried ? 5 : 1)) } }
}
