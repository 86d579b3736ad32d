// Time: a steady clock for ages inside the process, a wall clock for stamps that outlive it.
import Glibc
import Synchronization

/// A point of the steady clock, nanoseconds; only differences have meaning, and sleep of the machine counts.
public struct Instant: Comparable, Hashable, Sendable {
  public var nanoseconds: Int64
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  public static func - (a: Instant, b: Instant) -> Duration {
    // The distant past lies further back than Int64 reaches.
    let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
    return .nanoseconds(overflow ? (a.nanoseconds < b.nanoseconds ? .min : .max) : difference)
  }
  public static func + (a: Instant, b: Duration) -> Instant {
    Instant(nanoseconds: a.nanoseconds.addingSaturating(b.nanosecondsClamped))
  }
  /// Before every other instant.
  public static let distantPast = Instant(nanoseconds: .min)
}

/// A wall-clock time, milliseconds since 1970-01-01 UTC.
public struct WallTime: Comparable, Hashable, Sendable {
  public var milliseconds: Int64
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }
  /// Held at the ends of Int64: files and answers hold any number.
  public init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
  }
  public var seconds: Int64 { milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0) }
  public static func < (a: WallTime, b: WallTime) -> Bool { a.milliseconds < b.milliseconds }
  public static func - (a: WallTime, b: WallTime) -> Duration {
    .milliseconds(a.milliseconds) - .milliseconds(b.milliseconds)
  }
}

public protocol Clock: Sendable {
  func now() -> Instant
  func wall() -> WallTime
}

/// clock_gettime(2): CLOCK_BOOTTIME, which goes on through suspend, and CLOCK_REALTIME.
public struct SystemClock: Clock {
  public init() {}
  public func now() -> Instant {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
  public func wall() -> WallTime {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}

/// A clock that moves when told to.
public final class ManualClock: Clock {
  private let state: Mutex<(now: Instant, wall: WallTime)>

  public init(now: Instant = Instant(nanoseconds: 1_000_000_000_000), wall: WallTime = WallTime(seconds: 1_700_000_000))
  {
    state = Mutex((now, wall))
  }
  public func now() -> Instant { state.withLock { $0.now } }
  public func wall() -> WallTime { state.withLock { $0.wall } }
  public func advance(_ duration: Duration) {
    state.withLock {
      $0.now = $0.now + duration
      $0.wall.milliseconds += duration.nanosecondsClamped / 1_000_000
    }
  }
  /// Steps the wall clock alone, as an administrator or NTP does.
  public func stepWall(_ duration: Duration) {
    state.withLock { $0.wall.milliseconds += duration.nanosecondsClamped / 1_000_000 }
  }
}

extension Duration {
  /// Whole nanoseconds, held at the ends of Int64.
  public var nanosecondsClamped: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    return product.addingSaturating(attoseconds / 1_000_000_000)
  }
  public var secondsValue: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}

extension Int64 {
  /// The sum, held at the ends of Int64: any number of sizes may be told.
  public func addingSaturating(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    if overflow { return other < 0 ? .min : .max }
    return sum
  }
}
