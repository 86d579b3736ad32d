// When a signal may end a request: only when it kills the caller. Others must not see EINTR from stat(2) or open(2).
import MirrorPlatform
import Synchronization

/// The thread that looks at interrupted requests: at once, then ten times a second until each is answered, because the
/// kernel reports only a caller's first signal, and the deadly one may come later.
final class InterruptWatch: Sendable {
  private struct State {
    var interrupted: [PendingReply] = []
    var stopped = false
  }
  private let state = Mutex(State())
  private let bell: Doorbell
  private let ended = Promise<Void>()

  init() throws(Errno) { bell = try Doorbell() }

  func start() {
    startThread("s3m-interrupt") {
      self.run()
      self.ended.set(())
    }
  }

  /// Takes an interrupted request; without a pid nothing can be learnt of its caller, and its deadline must do.
  func add(_ reply: PendingReply) {
    guard reply.caller > 0 else { return }
    state.withLock { $0.interrupted.append(reply) }
    bell.ring()
  }

  /// Ends the thread, which was started.
  func stop() {
    state.withLock { $0.stopped = true }
    bell.ring()
    ended.wait()
    state.withLock { $0.interrupted = [] }
  }

  private func run() {
    while true {
      let (waiting, stopped) = state.withLock { state in
        state.interrupted.removeAll { $0.isAnswered }
        return (state.interrupted, state.stopped)
      }
      if stopped { return }
      for reply in waiting where Self.isDying(reply.caller) { reply.fail(.interrupted) }
      bell.wait(waiting.isEmpty ? nil : .milliseconds(100))
    }
  }

  private static func isDying(_ thread: Int32) -> Bool {
    guard let status = try? FileSystem.read("/proc/\(thread)/status") else { return false }
    return SignalState(status: status).isDeadly
  }
}
