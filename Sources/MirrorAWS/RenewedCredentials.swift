// Credentials kept fresh: renewed ahead of their end by one fetch at a time, while those at hand go on being used.
import MirrorPlatform
import Synchronization

/// Safe to share.
final class RenewedCredentials: Sendable {
  typealias Fetch = @Sendable () async throws(CredentialError) -> Credentials
  private typealias Outcome = Result<Credentials, CredentialError>

  private struct State {
    var current: Credentials?
    /// How long before their end the present ones are renewed.
    var margin = Duration.zero
    var isRefused = false
    /// They may have been: if no others can be had they go on.
    var isDoubted = false
    var fetched = Instant.distantPast
    var fetching: Task<Outcome, Never>?
    var failures = 0
    var failure: CredentialError?
    /// No fetch before.
    var notBefore = Instant.distantPast
  }

  /// So long before their end, at most, are credentials renewed; a quarter of their life where that is less.
  static let largestMargin = Duration.seconds(600)
  /// Between attempts that fail, at most.
  static let largestPause = Duration.seconds(30)
  /// Refused ones are not fetched anew more often, and those that may have been.
  static let refusalPause = Duration.seconds(1)
  static let doubtPause = Duration.seconds(300)

  private let name: String
  private let isStable: Bool
  private let clock: any Clock
  private let log: Log
  private let fetch: Fetch
  private let state = Mutex(State())

  /// `isStable`: credentials that have ended go on being used while the service gives none (IMDS, which may be behind).
  init(_ name: String, isStable: Bool = false, clock: any Clock, log: Log, fetch: @escaping Fetch) {
    self.name = name
    self.isStable = isStable
    self.clock = clock
    self.log = log
    self.fetch = fetch
  }

  func credentials() async throws(CredentialError) -> Credentials {
    enum Step {
      case use(Credentials)
      case wait(Task<Outcome, Never>)
      case fail(CredentialError)
    }
    let now = clock.now()
    let wall = clock.wall()
    let step = state.withLock { state -> Step in
      if let current = state.current, !state.isRefused {
        guard let end = current.expiration else { return .use(current) }
        let left = end - wall
        if left > state.margin { return .use(current) }
        if left > .zero {
          if now >= state.notBefore { _ = begin(&state) }
          return .use(current)
        }
      }
      if state.fetching == nil, now < state.notBefore, let failure = state.failure {
        if isStable, let current = state.current, !state.isRefused { return .use(current) }
        return .fail(failure)
      }
      return .wait(begin(&state))
    }
    switch step {
    case .use(let credentials): return credentials
    case .fail(let error): throw error
    case .wait(let task):
      let outcome = await task.value
      if case .failure = outcome,
        let current = state.withLock({ $0.isRefused ? nil : $0.current }), isStable || !current.hasEnded(by: wall)
      {
        return current
      }
      return try outcome.get()
    }
  }

  /// The origin refused these, or may have: the next who asks waits for others.
  func refuse(_ credentials: Credentials, isCertain: Bool = true) {
    let now = clock.now()
    state.withLock { state in
      let pause = isCertain ? Self.refusalPause : Self.doubtPause
      guard state.current == credentials, now - state.fetched >= pause, isCertain || now >= state.notBefore else {
        return
      }
      state.isRefused = true
      state.isDoubted = !isCertain
      state.notBefore = .distantPast
    }
  }

  /// The fetch under way, or a new one.
  private func begin(_ state: inout State) -> Task<Outcome, Never> {
    if let task = state.fetching { return task }
    let task = Task { () async -> Outcome in
      let outcome: Outcome
      do throws(CredentialError) { outcome = .success(try await fetch()) } catch { outcome = .failure(error) }
      take(outcome)
      return outcome
    }
    state.fetching = task
    return task
  }

  private func take(_ outcome: Outcome) {
    let now = clock.now()
    let wall = clock.wall()
    let isKept = state.withLock { state -> Bool in
      state.fetching = nil
      switch outcome {
      case .success(let credentials):
        let isNew = credentials != state.current
        if isNew {
          let life = credentials.expiration.map { $0 - wall } ?? .zero
          state.margin = min(Self.largestMargin, .nanoseconds(max(0, life.nanosecondsClamped / 4)))
        }
        state.current = credentials
        (state.isRefused, state.isDoubted) = (false, false)
        state.fetched = now
        state.failures = 0
        state.failure = nil
        // A service that has no newer ones yet is asked again, at a pace.
        state.notBefore = isNew ? .distantPast : now + Self.largestPause
        if let end = credentials.expiration, end <= wall {
          state.failure = CredentialError("\(name) gives credentials that have ended")
          state.notBefore = now + .seconds(1)
        }
      case .failure(let error):
        if state.isDoubted { (state.isRefused, state.isDoubted) = (false, false) }
        state.failures += 1
        state.failure = error
        let pause = Duration.seconds(Int64(1) << Int64(min(state.failures - 1, 10)))
        state.notBefore = now + min(Self.largestPause, pause)
      }
      return state.current.map { !$0.hasEnded(by: wall) && !state.isRefused } ?? false
    }
    if case .failure(let error) = outcome, isKept {
      log.limited(.warning, key: "renew \(name)", "credentials can't be renewed, those at hand go on: \(error)")
    } else if case .success = outcome {
      log.debug("credentials of \(name) are renewed")
    }
  }
}

extension Credentials {
  fileprivate func hasEnded(by wall: WallTime) -> Bool { expiration.map { $0 <= wall } ?? false }
}
