// The requests that wait for an answer: which directories the kernel holds locked, and what must end with the session.
import Glibc
import MirrorCore
import MirrorPlatform
import Synchronization

final class PendingRequests: Sendable {
  private struct State {
    var replies: [ObjectIdentifier: PendingReply] = [:]
    var directories: [NodeID: Int] = [:]
  }
  private let state = Mutex(State())
  let watch: InterruptWatch

  init(watch: InterruptWatch) { self.watch = watch }

  func insert(_ reply: PendingReply) {
    state.withLock { state in
      guard state.replies.updateValue(reply, forKey: ObjectIdentifier(reply)) == nil else { return }
      if let directory = reply.directory { state.directories[directory, default: 0] += 1 }
    }
  }

  func remove(_ reply: PendingReply) {
    state.withLock { state in
      guard state.replies.removeValue(forKey: ObjectIdentifier(reply)) != nil, let directory = reply.directory,
        let count = state.directories[directory]
      else { return }
      state.directories[directory] = count > 1 ? count - 1 : nil
    }
  }

  /// Whether a LOOKUP or READDIR of it waits, so that a notice would wait in the kernel behind it.
  func isBusy(_ directory: NodeID) -> Bool { state.withLock { $0.directories[directory] != nil } }

  var count: Int { state.withLock { $0.replies.count } }

  /// Answers all that is left with ENOTCONN and returns when no reply is being made: libfuse may then go.
  func close() {
    while true {
      let left = state.withLock { Array($0.replies.values) }
      if left.isEmpty { return }
      for reply in left { reply.fail(.notConnected) }
      // What another thread has claimed is a pread and a writev from its end.
      usleep(500)
    }
  }
}
