// What was asked of the origin: every attempt, counted where it is sent, for the catalogue to keep.
public import MirrorPlatform
import Synchronization

/// What the catalogue keeps apart: requests of one class, below one prefix, on one day.
public struct LedgerEntry: Hashable, Sendable {
  /// Days since 1970, UTC.
  public let day: Int64
  /// Relative to the mount's: the first component with its `/`, empty for what lies at the top, or `rest`.
  public let prefix: ObjectKey
  public let requests: RequestClass

  public init(day: Int64, prefix: ObjectKey, _ requests: RequestClass) {
    self.day = day
    self.prefix = prefix
    self.requests = requests
  }

  /// All prefixes that have no place of their own. No prefix is called so: this does not end in `/`.
  public static let rest = ObjectKey("…")
}

public typealias LedgerEntries = [LedgerEntry: Tally]

/// Counts every attempt that was sent, since mount and by day and prefix.
public final class Ledger: Sendable {
  /// Prefixes of one day that are kept apart.
  public static let prefixLimit = 64

  fileprivate struct State {
    var sinceMount = RequestCounts()
    var unsaved: LedgerEntries = [:]
    var recent: RecentRequests
    var day: Int64 = .min
    /// Those of `day`.
    var prefixes: [ArraySlice<UInt8>: ObjectKey] = [:]
    var whenUnsaved: (@Sendable () -> Void)?
    var observer: (@Sendable (RequestClass, Tally) -> Void)?
  }
  private let state: Mutex<State>
  private let clock: any Clock
  private let mounted: [UInt8]
  private let start: Instant
  public let prices: Prices

  /// `prefix` is what is mounted; keys are told apart by what follows it.
  public init(prices: Prices = Prices(), prefix: ObjectKey = ObjectKey([]), clock: any Clock = SystemClock()) {
    self.prices = prices
    self.clock = clock
    mounted = prefix.bytes
    start = clock.now()
    state = Mutex(State(recent: RecentRequests(since: start)))
  }

  /// One attempt whose request was sent; `status` 0 where no answer came, `bytes` of the body received. `key` is that
  /// of the object, or what listed keys begin with.
  public func record(
    _ kind: RequestKind, status: Int, bytes: Int64, of key: ObjectKey = ObjectKey([]),
    storageClass: StorageClass = .standard
  ) {
    let requests = RequestClass(kind, RequestOutcome(status: status), storageClass)
    let tally = Tally(requests: 1, bytes: bytes)
    let day = Self.day(clock.wall())
    let now = clock.now()
    let (wake, observer) = state.withLock { state in
      state.sinceMount.add(requests, tally)
      state.recent.add(requests, tally, at: now)
      let isFirst = state.unsaved.isEmpty
      let entry = LedgerEntry(day: day, prefix: state.prefix(component(of: key), on: day), requests)
      state.unsaved[entry] = state.unsaved[entry].map { $0 + tally } ?? tally
      return (isFirst ? state.whenUnsaved : nil, state.observer)
    }
    observer?(requests, tally)
    wake?()
  }

  /// `body` is told of each attempt; it must not wait.
  public func observe(_ body: @escaping @Sendable (RequestClass, Tally) -> Void) {
    state.withLock { $0.observer = body }
  }

  public var sinceMount: RequestCounts { state.withLock { $0.sinceMount } }

  /// All since mount, and those of the last hour or of all the time if that is less.
  public func measured() -> (all: MeasuredRequests, recent: MeasuredRequests) {
    let now = clock.now()
    return state.withLock { state in
      let all = MeasuredRequests(counts: state.sinceMount, span: now - start)
      return (all, state.recent.measured(at: now))
    }
  }

  /// What came since the last call: to be added to what is on disk.
  public func takeUnsaved() -> LedgerEntries {
    state.withLock { state in
      defer { state.unsaved = [:] }
      return state.unsaved
    }
  }

  /// Puts back what could not be saved.
  public func putBack(_ entries: LedgerEntries) {
    state.withLock { state in state.unsaved.merge(entries, uniquingKeysWith: +) }
  }

  /// `body` is called when there is something to save again; it must not wait.
  public func whenUnsaved(_ body: @escaping @Sendable () -> Void) {
    let isNeeded = state.withLock { state in
      state.whenUnsaved = body
      return !state.unsaved.isEmpty
    }
    if isNeeded { body() }
  }

  /// Takes over which prefixes of today have a place of their own from the entries that an earlier process saved.
  public func resume(_ saved: LedgerEntries) {
    let today = Self.day(clock.wall())
    state.withLock { state in
      for entry in saved.keys where entry.day == today && entry.prefix != LedgerEntry.rest {
        _ = state.prefix(entry.prefix.bytes[...], on: today)
      }
    }
  }

  /// The UTC day of a time, in days since 1970.
  public static func day(_ time: WallTime) -> Int64 {
    let seconds = time.seconds
    return seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
  }

  /// The first component below what is mounted, with its `/`; empty for a key that has none.
  private func component(of key: ObjectKey) -> ArraySlice<UInt8> {
    guard key.bytes.count > mounted.count, key.bytes.starts(with: mounted) else { return [] }
    let rest = key.bytes[mounted.count...]
    return rest.firstIndex(of: 0x2F).map { rest[...$0] } ?? []
  }
}

extension Ledger.State {
  /// The name under which a prefix is kept on a day.
  fileprivate mutating func prefix(_ component: ArraySlice<UInt8>, on day: Int64) -> ObjectKey {
    if component.isEmpty { return ObjectKey([]) }
    if day != self.day {
      self.day = day
      prefixes = [:]
    }
    if let known = prefixes[component] { return known }
    guard prefixes.count < Ledger.prefixLimit else { return LedgerEntry.rest }
    let prefix = ObjectKey(Array(component))
    prefixes[prefix.bytes[...]] = prefix
    return prefix
  }
}
