// A thread that takes what was handed to it in batches: now, when there is enough, or after a while.
import Glibc
import MirrorPlatform

/// A queue and the one thread that empties it, in order.
///
/// Sendable because every variable below is touched only with `mutex` held.
@safe final class BatchThread<Item: Sendable>: @unchecked Sendable {
  /// So many items are taken at once, however patient they are. While a large listing comes in it needs the processors
  /// itself, and what it tells can wait.
  static var enough: Int { 100_000 }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var pending: [Item] = []
  /// Nanoseconds of CLOCK_MONOTONIC at which the thread goes to work; nil while it has nothing to do.
  private var wake: Int64?
  private var hasEnded = false

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Starts the thread. `body` gets each batch, which may be empty, and answers when it wants to be called again
  /// though nothing comes.
  func start(_ name: String, background: Bool = false, _ body: @escaping @Sendable ([Item]) -> Duration?) {
    startThread(name, background: background) { [self] in
      while let batch = take() {
        if let delay = body(batch) { locked { wakeUp(at: now() + delay.nanosecondsClamped) } }
      }
    }
  }

  /// Hands over an item, which is taken within `delay`; false after `end`. Never waits.
  @discardableResult
  func post(_ item: Item, within delay: Duration = .zero) -> Bool { post(CollectionOfOne(item), within: delay) }

  /// The same for several, in this order.
  @discardableResult
  func post(_ items: some Collection<Item>, within delay: Duration) -> Bool {
    locked {
      guard !hasEnded else { return false }
      pending.append(contentsOf: items)
      let patience = pending.count >= Self.enough ? 0 : delay.nanosecondsClamped
      wakeUp(at: patience == 0 ? 0 : now() + patience)
      return true
    }
  }

  /// Takes no more; the thread ends after what was handed over before.
  func end() {
    locked {
      hasEnded = true
      wakeUp(at: 0)
    }
  }

  private func take() -> [Item]? {
    locked {
      while true {
        if let wake {
          let rest = wake - now()
          if rest <= 0 { break }
          var time = timespec(tv_sec: Int(wake / 1_000_000_000), tv_nsec: Int(wake % 1_000_000_000))
          unsafe pthread_cond_timedwait(condition, mutex, &time)
        } else if hasEnded {
          return nil
        } else {
          unsafe pthread_cond_wait(condition, mutex)
        }
      }
      wake = nil
      if hasEnded && pending.isEmpty { return nil }
      defer { pending = [] }
      return pending
    }
  }

  private func wakeUp(at time: Int64) {
    if let wake, wake <= time { return }
    wake = time
    unsafe pthread_cond_signal(condition)
  }

  private func now() -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private func locked<Answer>(_ body: () -> Answer) -> Answer {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }
}
