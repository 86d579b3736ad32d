// Listens to a queue for as long as a mount lives: hands on what is news, and tells how the listening goes.
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// Reads one queue in a task of its own, for one mount. Safe to share.
public final class QueueWatch: Sendable {
  /// Between attempts that fail.
  static let shortestPause = Duration.seconds(1)
  static let longestPause = Duration.seconds(60)

  private struct State {
    var status: QueueStatus
    var order = EventOrder()
    var failures = 0
    var loop: Task<Void, Never>?
  }
  private let reader: QueueReader
  private let bucket: String?
  private let prefix: ObjectKey
  private let clock: any Clock
  private let log: Log
  private let heed: @Sendable (KeyChange) async -> Void
  private let state: Mutex<State>

  /// Hands on changes of the bucket's keys below the prefix; nil: of any bucket.
  public init(
    _ reader: QueueReader, bucket: String?, prefix: ObjectKey, clock: any Clock = SystemClock(), log: Log = .none,
    heed: @escaping @Sendable (KeyChange) async -> Void
  ) {
    self.reader = reader
    self.bucket = bucket
    self.prefix = prefix
    self.clock = clock
    self.log = log
    self.heed = heed
    state = Mutex(State(status: QueueStatus(queue: reader.address.url)))
  }

  public var status: QueueStatus {
    var status = state.withLock { $0.status }
    status.requests = reader.sent
    return status
  }

  /// Listens from now on.
  public func start() {
    let loop = Task { [weak self] in
      while !Task.isCancelled {
        guard let pause = await self?.round() else { return }
        if pause > .zero { try? await Task.sleep(for: pause) }
      }
    }
    state.withLock { $0.loop = loop }
  }

  public func stop() { state.withLock { $0.loop }?.cancel() }

  /// One question to the queue and what follows from the answer; how long to wait before the next.
  func round() async -> Duration {
    let asked = clock.now()
    let messages: [QueueMessage]
    do throws(QueueError) { messages = try await reader.receive() } catch {
      return Task.isCancelled ? .zero : noteFailure(error)
    }
    noteSuccess()
    let done = await take(messages)
    if !done.isEmpty {
      do throws(QueueError) { try await reader.delete(done) } catch {
        log.limited(
          .warning, key: "events delete", "events: messages can't be taken from \(reader.address): \(error)")
      }
    }
    // A server that knows no long poll, or messages that are left: not at once again.
    let isIdle = done.isEmpty && clock.now() - asked < Self.shortestPause
    return isIdle ? Self.shortestPause : .zero
  }

  /// The messages that are done with: a stranger's are left where they are.
  private func take(_ messages: [QueueMessage]) async -> [QueueMessage] {
    var done: [QueueMessage] = []
    for message in messages {
      guard let event = EventMessage(message.body, bucket: bucket, prefix: prefix) else {
        log.limited(
          .warning, key: "events message",
          "events: \(reader.address) holds messages that are no notifications of S3; they are left there")
        continue
      }
      done.append(message)
      let news = state.withLock { state in
        state.status.messages += 1
        let news = event.changes.filter { state.order.isNews($0) }
        state.status.changes += news.count
        return news
      }
      for change in news {
        log.debug("events: '\(change.key)' was \(change.isRemoval ? "deleted" : "written")")
        await heed(change)
      }
    }
    return done
  }

  private func noteSuccess() {
    let now = clock.wall()
    let before = state.withLock { state -> QueueStatus.Condition in
      defer { state.failures = 0 }
      if case .listening = state.status.condition { return state.status.condition }
      let before = state.status.condition
      state.status.condition = .listening(since: now)
      return before
    }
    if case .listening = before { return }
    log.notice("events: listening to \(reader.address)")
  }

  private func noteFailure(_ error: QueueError) -> Duration {
    let now = clock.wall()
    let (isNew, pause) = state.withLock { state -> (Bool, Duration) in
      state.failures += 1
      let pause = Self.shortestPause * (1 << min(state.failures - 1, 6))
      if case .failing(let since, _) = state.status.condition {
        state.status.condition = .failing(since: since, because: error.description)
        return (false, min(Self.longestPause, pause))
      }
      state.status.condition = .failing(since: now, because: error.description)
      return (true, pause)
    }
    if isNew {
      log.warning("events: \(reader.address) can't be read, so only the lifetimes count: \(error)")
    }
    return pause
  }
}
