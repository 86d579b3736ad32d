// Time that passes when told to, for clocks and for whoever sleeps.
import MirrorPlatform
import Synchronization

final class ModelTime: Sendable {
  let clock = ManualClock()

  private struct State {
    var last = 0
    var sleepers: [Int: (due: Instant, continuation: CheckedContinuation<Void, Never>)] = [:]
    /// Cancelled before they fell asleep.
    var cancelled: Set<Int> = []
  }
  private let state = Mutex(State())

  var now: Instant { clock.now() }

  /// Returns when the time has come or the task is cancelled.
  func sleep(_ duration: Duration) async {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    let due = clock.now() + duration
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.cancelled.remove(number) != nil { return true }
          state.sleepers[number] = (due, continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: number)
        if sleeper == nil { state.cancelled.insert(number) }
        return sleeper
      }
      sleeper?.continuation.resume()
    }
  }

  /// When the next sleeper wakes.
  var nextDue: Instant? { state.withLock { $0.sleepers.values.map(\.due).min() } }

  /// Lets the clock come to `moment`, and wakes whose time has come.
  func come(to moment: Instant) {
    if moment > clock.now() { clock.advance(moment - clock.now()) }
    let awake = state.withLock { state in
      let numbers = state.sleepers.filter { $0.value.due <= moment }.sorted {
        ($0.value.due, $0.key) < ($1.value.due, $1.key)
      }
      for (number, _) in numbers { state.sleepers[number] = nil }
      return numbers.map(\.value.continuation)
    }
    for continuation in awake { continuation.resume() }
  }
}
