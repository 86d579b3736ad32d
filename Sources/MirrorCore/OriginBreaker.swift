// Whether the origin can be asked at all: an outage is found out once, not by every reader.
import MirrorPlatform
import MirrorStore
import Synchronization

/// When an outage begins and how often it is probed: the policy, with no clock of its own.
struct BreakerPolicy {
  /// Failures on so many different subjects, with no success between, cast doubt on the origin itself.
  static let suspicion = 3

  enum Verdict { case nothing, probe, open }

  private var failing: Set<String> = []

  mutating func failed(_ error: StoreError) -> Verdict {
    // Want of money says nothing about the origin.
    guard error.isOriginFailure, error.code != .overBudget else { return .nothing }
    if error.isConnectionFailure { return .open }
    failing.insert(error.subject)
    return failing.count >= Self.suspicion || error.code == .noSuchBucket ? .probe : .nothing
  }

  mutating func succeeded() { failing.removeAll(keepingCapacity: true) }

  /// The pause before probe `number` (from 0) of an outage.
  static func pause(beforeProbe number: Int) -> Duration {
    min(.milliseconds(250 << min(number, 5)), .seconds(5))
  }
}

/// Passes requests on while the origin answers; fails them at once while it does not.
final class OriginBreaker: ObjectStore {
  private struct State {
    var policy = BreakerPolicy()
    var offlineSince: WallTime?
    var cause: StoreError?
    var isProbing = false
    /// The probe is refused, which says nothing: the next request is sent, and what it is answered counts.
    var mayTry = false
    var isLate = false

    enum Entry {
      case pass, trial
      case refused(StoreError)
      var isTrial: Bool { if case .trial = self { true } else { false } }
    }

    /// Whether a request may be sent.
    mutating func enter() -> Entry {
      if offlineSince == nil { return .pass }
      guard mayTry else { return .refused(cause ?? OriginBreaker.offline) }
      mayTry = false
      return .trial
    }

    /// A request was answered; of those that were under way when the outage began nothing follows.
    mutating func answered(wasTried: Bool) {
      policy.succeeded()
      isLate = false
      if wasTried { close() }
    }

    mutating func close() { (offlineSince, cause, mayTry) = (nil, nil, false) }
  }

  private let store: any ObjectStore
  private let clock: any Clock
  private let log: Log
  private let state: Mutex<State>
  private let forcedOffline: Bool
  /// Between two probes.
  private let pause: @Sendable (Duration) async -> Void

  init(
    _ store: any ObjectStore, forcedOffline: Bool, clock: any Clock, log: Log,
    pause: @escaping @Sendable (Duration) async -> Void
  ) {
    self.pause = pause
    self.store = store
    self.clock = clock
    self.log = log
    self.forcedOffline = forcedOffline
    var initial = State()
    if forcedOffline { initial.offlineSince = clock.wall() }
    state = Mutex(initial)
  }

  /// Since when the origin has not been asked; nil while it answers.
  var offlineSince: WallTime? { state.withLock { $0.offlineSince } }

  /// Somebody has waited for an answer until it was no use waiting, and none has come since: whoever can be given a
  /// stale answer need not find that out again.
  var isLate: Bool { state.withLock { $0.isLate } }
  func noteLate() { state.withLock { $0.isLate = true } }

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    try await passing("GetObject") { () throws(StoreError) in try await store.get(request, into: sink) }
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await passing("HeadObject") { () throws(StoreError) in try await store.head(request) }
  }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try await passing("ListObjectsV2") { () throws(StoreError) in try await store.list(request) }
  }
  func probe(deadline: Instant?) async throws(StoreError) {
    try await passing("HeadBucket") { () throws(StoreError) in try await store.probe(deadline: deadline) }
  }

  private func passing<Answer>(
    _ operation: String, _ body: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let entry = state.withLock { $0.enter() }
    if case .refused(let cause) = entry {
      throw StoreError(cause.code, operation: operation, subject: cause.subject, message: cause.message)
    }
    let isTrial = entry.isTrial
    do throws(StoreError) {
      let answer = try await body()
      state.withLock { $0.answered(wasTried: isTrial) }
      return answer
    } catch {
      note(error, wasTried: isTrial)
      throw error
    }
  }

  private static let offline = StoreError(
    .unreachable, operation: "", subject: "the origin", message: "the mount is offline (--offline)")

  /// An outage is known from elsewhere.
  func open(because error: StoreError) {
    let begins = state.withLock { state in
      guard !state.isProbing else { return false }
      state.isProbing = true
      open(&state, error)
      return true
    }
    guard begins else { return }
    warn(error)
    Task { await watch(error, isOpen: true) }
  }

  /// An answer is long in coming: whether the origin answers at all is found out beside it.
  func doubt(_ subject: String) {
    let begins = state.withLock { state in
      guard !state.isProbing else { return false }
      state.isProbing = true
      return true
    }
    let cause = StoreError(.timeout, operation: "HeadBucket", subject: subject, message: "no answer in time")
    if begins { Task { await watch(cause, isOpen: false) } }
  }

  private func note(_ error: StoreError, wasTried: Bool) {
    let verdict = state.withLock { state -> BreakerPolicy.Verdict in
      if !error.isOriginFailure && error.code != .cancelled {
        state.answered(wasTried: wasTried)
      }
      let verdict = state.policy.failed(error)
      guard verdict != .nothing, !state.isProbing else { return .nothing }
      state.isProbing = true
      if verdict == .open { open(&state, error) }
      return verdict
    }
    guard verdict != .nothing else { return }
    if verdict == .open { warn(error) }
    Task { await watch(error, isOpen: verdict == .open) }
  }

  private func open(_ state: inout State, _ error: StoreError) {
    state.offlineSince = clock.wall()
    state.cause = error
  }

  private func warn(_ error: StoreError) {
    log.warning("the origin can't be reached; serving what is cached: \(error)")
  }

  /// Asks whether the bucket answers until it does; a doubt that the first answer settles opens nothing.
  private func watch(_ cause: StoreError, isOpen: Bool) async {
    var isOpen = isOpen
    var number = 0
    while true {
      if isOpen { await pause(BreakerPolicy.pause(beforeProbe: number)) }
      // A request that was let through was answered.
      if isOpen, state.withLock({ $0.offlineSince == nil }) { break }
      number += 1
      do throws(StoreError) {
        try await store.probe(deadline: clock.now() + .seconds(5))
        break
      } catch {
        if answers(error, cause) || (error.code == .overBudget && !isOpen) { break }
        if isOpen, !error.isOriginFailure, error.code != .cancelled { state.withLock { $0.mayTry = true } }
        if !isOpen {
          isOpen = true
          // Of an identity that failed a refusal tells no more.
          let known = error.isOriginFailure ? error : cause
          state.withLock { open(&$0, known) }
          warn(known)
        }
      }
    }
    state.withLock {
      $0.policy.succeeded()
      $0.close()
      $0.isProbing = false
    }
    if isOpen { log.notice("the origin answers again") }
  }

  /// A refusal is an answer, unless it was the identity that failed.
  private func answers(_ error: StoreError, _ cause: StoreError) -> Bool {
    !error.isOriginFailure && cause.code != .credentials && error.code != .cancelled
  }
}
