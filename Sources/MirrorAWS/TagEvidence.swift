// Whether ETags of MD5's form are MD5s: AWS promises it, other endpoints prove or disprove it.
import MirrorStore
import Synchronization

/// Judges the digests of whole bodies. A damaged transfer differs each time; a tag that is no MD5 meets the same
/// digest again.
final class TagEvidence: Sendable {
  enum Verdict: Equatable { case accept, reject, askAgain }

  private struct State {
    /// A digest agreed once.
    var isProven = false
    /// Two transfers agreed with each other and not with the tag, before any agreed with its own.
    var isDisproven = false
    /// Tags known to be no MD5; bounded.
    var unlike: Set<EntityTag> = []
  }
  private let state = Mutex(State())
  private let isPromised: Bool
  private let capacity = 1000

  init(isPromised: Bool) { self.isPromised = isPromised }

  func judge(_ tag: EntityTag, agrees: Bool) -> Verdict {
    if isPromised { return agrees ? .accept : .reject }
    return state.withLock { state in
      if agrees {
        state.isProven = true
        return .accept
      }
      if state.unlike.contains(tag) || (state.isDisproven && !state.isProven) { return .accept }
      return .askAgain
    }
  }

  /// The digests of a first and a second transfer, both unlike the tag or the second alone agreeing.
  func settle(_ tag: EntityTag, first: [UInt8], second: [UInt8]) -> Verdict {
    state.withLock { state in
      guard first == second else {
        if second == tag.md5 { state.isProven = true }
        return .reject
      }
      if !state.isProven { state.isDisproven = true }
      if state.unlike.count >= capacity { state.unlike.removeAll() }
      state.unlike.insert(tag)
      return .accept
    }
  }
}
