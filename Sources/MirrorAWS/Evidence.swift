// Whether values that look like digests are such: AWS promises it of ETags, other claims prove or disprove themselves.
import Synchronization

/// Judges the digests of bodies against what answers claim. A damaged transfer differs each time; a claim that is not
/// about these bytes meets the same digest again.
final class Evidence<Claim: Hashable & Sendable>: Sendable {
  enum Verdict: Equatable { case accept, reject, askAgain }

  private struct State {
    /// A digest agreed once.
    var isProven = false
    /// Two transfers agreed with each other and not with the claim, before any agreed with its own.
    var isDisproven = false
    /// Claims known to be wrong; bounded.
    var unlike: Set<Claim> = []
  }
  private let state = Mutex(State())
  private let isPromised: Bool
  /// Claims were disproven in an earlier life.
  private let wasDisproven: @Sendable () -> Bool
  private let capacity = 1000

  init(isPromised: Bool = false, wasDisproven: @escaping @Sendable () -> Bool = { false }) {
    self.isPromised = isPromised
    self.wasDisproven = wasDisproven
  }

  /// Claims of this kind are known to say nothing here.
  var isDisproven: Bool {
    let was = wasDisproven()
    return state.withLock { ($0.isDisproven || was) && !$0.isProven }
  }

  func judge(_ claim: Claim, agrees: Bool) -> Verdict {
    if isPromised { return agrees ? .accept : .reject }
    let was = wasDisproven()
    return state.withLock { state in
      if agrees {
        state.isProven = true
        return .accept
      }
      if state.unlike.contains(claim) || ((state.isDisproven || was) && !state.isProven) { return .accept }
      return .askAgain
    }
  }

  /// The digests of a first and a second transfer: both unlike the claim, or the second alone agreeing.
  func settle(_ claim: Claim, first: [UInt8], second: [UInt8], agrees: Bool) -> Verdict {
    state.withLock { state in
      guard first == second else {
        if agrees { state.isProven = true }
        return .reject
      }
      if !state.isProven { state.isDisproven = true }
      if state.unlike.count >= capacity { state.unlike.removeAll() }
      state.unlike.insert(claim)
      return .accept
    }
  }
}
