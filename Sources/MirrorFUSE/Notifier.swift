// Tells the kernel about names, from a thread of its own: a notice takes the directory's lock and may wait for it.
import CFUSE
import Glibc
import MirrorCore
import MirrorPlatform
import Synchronization

/// Where notices go: 0, or a negative errno.
protocol NoticeChannel: Sendable {
  func expire(_ name: [UInt8], in parent: NodeID) -> Int32
  func invalidate(_ name: [UInt8], in parent: NodeID) -> Int32
  func forgetContent(of node: NodeID) -> Int32
}

/// The notices of one session, in order and without duplicates. A directory with an unanswered LOOKUP or READDIR is
/// passed over and visited again: a notice would wait behind it in the kernel and hold up every later look-up there.
final class Notifier: KernelNotices {
  private struct Notice: Hashable {
    enum Kind { case expire, invalidate, forgetContent }
    let kind: Kind
    /// Of content: the file itself.
    let parent: NodeID
    var name: [UInt8] = []
  }
  private struct State {
    var queue: [Notice] = []
    var queued: Set<Notice> = []
    var started = false
    var stopped = false
  }

  private static let pause = Duration.milliseconds(30)
  private let state = Mutex(State())
  private let bell: Doorbell
  private let ended = Promise<Void>()
  private let tree: any FileTree
  private let pending: PendingRequests
  private let log: Log

  init(tree: any FileTree, pending: PendingRequests, log: Log) throws(Errno) {
    self.tree = tree
    self.pending = pending
    self.log = log
    bell = try Doorbell()
  }

  func expire(_ name: [UInt8], in parent: NodeID) { add(Notice(kind: .expire, parent: parent, name: name)) }

  func invalidate(_ name: [UInt8], in parent: NodeID) { add(Notice(kind: .invalidate, parent: parent, name: name)) }

  func forgetContent(of node: NodeID) { add(Notice(kind: .forgetContent, parent: node)) }

  private func add(_ notice: Notice) {
    let added = state.withLock { state in
      guard !state.stopped, notice.kind == .forgetContent || !notice.name.isEmpty, state.queued.insert(notice).inserted
      else { return false }
      state.queue.append(notice)
      return true
    }
    if added { bell.ring() }
  }

  /// Begins to send; what came before has waited.
  func start(_ session: some NoticeChannel) {
    state.withLock { $0.started = true }
    startThread("s3m-notify") {
      self.run(session)
      self.ended.set(())
    }
  }

  /// Ends the thread; what is still queued is dropped. The session must be over, so that no notice waits in the kernel.
  func stop() {
    let started = state.withLock { state in
      state.stopped = true
      state.queue = []
      state.queued = []
      return state.started
    }
    bell.ring()
    if started { ended.wait() }
  }

  private func run(_ session: some NoticeChannel) {
    while true {
      let (batch, stopped) = state.withLock { state in
        defer { state.queue = [] }
        return (state.queue, state.stopped)
      }
      if stopped { return }
      let postponed = send(batch, session)
      let more = state.withLock { state in
        // First again, so that one directory's notices keep their order.
        let arrived = !state.queue.isEmpty
        state.queue = postponed + state.queue
        return arrived
      }
      if more && postponed.isEmpty { continue }
      bell.wait(postponed.isEmpty ? nil : Self.pause)
    }
  }

  /// Carries out what can be; the rest comes back.
  private func send(_ batch: [Notice], _ session: some NoticeChannel) -> [Notice] {
    var postponed: [Notice] = []
    var passedOver: Set<NodeID> = []
    for notice in batch {
      if passedOver.contains(notice.parent) || pending.isBusy(notice.parent) {
        passedOver.insert(notice.parent)
        postponed.append(notice)
        continue
      }
      let alive = state.withLock { state in
        // Removed before it is sent: the same notice given while it is being sent means something newer.
        state.queued.remove(notice)
        return !state.stopped
      }
      guard alive else { return [] }
      report(carryOut(notice, session))
    }
    return postponed
  }

  private func carryOut(_ notice: Notice, _ session: some NoticeChannel) -> Int32 {
    switch notice.kind {
    case .expire: break
    case .invalidate: return session.invalidate(notice.name, in: notice.parent)
    case .forgetContent: return session.forgetContent(of: notice.parent)
    }
    let result = session.expire(notice.name, in: notice.parent)
    guard result == -ENOSYS, tree.isFile(notice.name, in: notice.parent) else { return result }
    return session.invalidate(notice.name, in: notice.parent)
  }

  private func report(_ result: Int32) {
    switch -result {
    case 0, ENOENT: break
    case ENOSYS:
      log.once(.notice, key: "expire", "this kernel cannot expire directories: changes show when their time is over")
    default: log.limited(.warning, key: "notice", "the kernel refused a notice: \(Errno(rawValue: -result))")
    }
  }
}
