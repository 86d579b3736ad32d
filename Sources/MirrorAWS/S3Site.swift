// What a store has learnt of its bucket's place and of the clock there; corrected by answers, shared by all requests.
import MirrorPlatform
import Synchronization

final class S3Site: Sendable {
  private struct State {
    var endpoint: Endpoint
    var clockOffset: Duration = .zero
    var keepsVersions = false
  }
  private let state: Mutex<State>

  init(_ endpoint: Endpoint) { state = Mutex(State(endpoint: endpoint)) }

  var endpoint: Endpoint {
    get { state.withLock { $0.endpoint } }
    set { state.withLock { $0.endpoint = newValue } }
  }
  /// Server time minus ours, where signatures need it.
  var clockOffset: Duration {
    get { state.withLock { $0.clockOffset } }
    set { state.withLock { $0.clockOffset = newValue } }
  }
  /// Versioning was switched on for the bucket, or nobody can tell.
  var keepsVersions: Bool {
    get { state.withLock { $0.keepsVersions } }
    set { state.withLock { $0.keepsVersions = newValue } }
  }
}
