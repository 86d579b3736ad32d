// Whether an endpoint's ETags of MD5's form are MD5s: AWS promises it, others prove it.
import MirrorStore
import Synchronization

/// Judges digests against tags. A damaged transfer differs each time; a tag that is no MD5 meets the same digest again.
final class TagEvidence: Sendable {
  private struct State {
    var isProven: Bool
    /// Digests that disagreed, by their tag; bounded.
    var disagreeing: [EntityTag: [UInt8]] = [:]
  }
  private let state: Mutex<State>
  private let capacity = 64

  init(isKnownMD5: Bool) { state = Mutex(State(isProven: isKnownMD5)) }

  /// Whether the bytes with this digest may stand for the tag. Until a digest has agreed once, a disagreement says
  /// more about the endpoint than about the bytes.
  func accepts(_ tag: EntityTag, digest: [UInt8], agrees: Bool) -> Bool {
    state.withLock { state in
      if agrees {
        state.isProven = true
        return true
      }
      guard state.isProven else { return true }
      if state.disagreeing[tag] == digest { return true }
      if state.disagreeing.count >= capacity { state.disagreeing.removeAll() }
      state.disagreeing[tag] = digest
      return false
    }
  }
}
