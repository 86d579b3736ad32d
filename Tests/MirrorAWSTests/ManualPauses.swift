// Pauses that are noted instead of slept.
import Synchronization

final class ManualPauses: Sendable {
  private let pauses = Mutex<[Duration]>([])
  func add(_ pause: Duration) { pauses.withLock { $0.append(pause) } }
  var all: [Duration] { pauses.withLock { $0 } }
}
