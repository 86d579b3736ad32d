// One request's one reply: whoever comes first sends it, be it the tree, the interrupt watch or the end of the session.
import CFUSE
import MirrorCore
import MirrorPlatform
import Synchronization

/// A request that has not been answered, or is just being answered; safe to hold for as long as one likes.
final class PendingReply: Sendable {
  /// fuse_req_t; freed by the reply, so only the one that claimed the reply may use it.
  private let request: UInt
  /// The thread that waits in the kernel; 0 when unknown.
  let caller: Int32
  /// The directory whose lock the kernel holds until the answer.
  let directory: NodeID?
  private let pending: PendingRequests

  private struct Bits {
    static let claimed: UInt8 = 1
    static let done: UInt8 = 2
    static let kept: UInt8 = 4
  }
  private let state = Atomic<UInt8>(0)

  init(_ request: UInt, locking directory: NodeID?, pending: PendingRequests) {
    self.request = request
    self.directory = directory
    self.pending = pending
    caller = cfuse_request_pid(request)
  }

  /// Lets a signal of the caller reach the interrupt watch; before the tree can answer.
  func watchForInterrupt() {
    // libfuse holds a reference until the reply takes it back.
    unsafe cfuse_request_on_interrupt(request, Unmanaged.passRetained(self).toOpaque())
  }

  /// Under libfuse's lock of the request: only handed on.
  func interrupted() { pending.watch.add(self) }

  var isAnswered: Bool { state.load(ordering: .acquiring) & Bits.claimed != 0 }
  var isDone: Bool { state.load(ordering: .sequentiallyConsistent) & Bits.done != 0 }

  /// Sends the reply that `send` makes, if none was sent; true when the kernel took it.
  @discardableResult
  func answer(_ send: (UInt) -> Int32) -> Bool {
    let before = state.bitwiseOr(Bits.claimed, ordering: .acquiringAndReleasing).oldValue
    guard before & Bits.claimed == 0 else { return false }
    // From here no interrupt is running or will come, so libfuse's reference can go.
    cfuse_request_on_interrupt(request, nil)
    unsafe Unmanaged.passUnretained(self).release()
    let taken = send(request) == 0
    let after = state.bitwiseOr(Bits.done, ordering: .sequentiallyConsistent).oldValue
    if after & Bits.kept != 0 { pending.remove(self) }
    return taken
  }

  @discardableResult
  func fail(_ error: Errno) -> Bool { answer { cfuse_reply_error($0, error.rawValue) } }

  /// Called when the tree has returned: a request that was not answered in place is kept where others can find it.
  func keepUnlessDone() {
    guard !isDone else { return }
    _ = state.bitwiseOr(Bits.kept, ordering: .sequentiallyConsistent)
    pending.insert(self)
    // The reply may have ended before it could see `kept`.
    if isDone { pending.remove(self) }
  }
}
