// A few threads that run what is handed to them, in order, away from the thread that hands it over.
import Glibc
import Synchronization

/// Runs closures on threads of its own; ends when closed or released.
public final class WorkQueue: Sendable {
  private let pending: Pending

  public init(name: String, threads: Int) {
    let pending = Pending()
    self.pending = pending
    for _ in 0..<threads { startThread(name) { pending.run() } }
  }
  deinit { pending.close() }

  public func submit(_ work: @escaping @Sendable () -> Void) { pending.add(work) }

  @safe private final class Pending: Sendable {
    private struct State {
      var work: [@Sendable () -> Void] = []
      var next = 0
      var closed = false
      var threads = 0
    }
    private let state = Mutex(State())
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { unsafe sem_init(semaphore, 0, 0) }
    deinit {
      unsafe sem_destroy(semaphore)
      unsafe semaphore.deallocate()
    }

    func add(_ work: @escaping @Sendable () -> Void) {
      state.withLock { $0.work.append(work) }
      unsafe sem_post(semaphore)
    }

    func close() {
      let threads = state.withLock { state in
        state.closed = true
        return state.threads
      }
      for _ in 0...threads { unsafe sem_post(semaphore) }
    }

    func run() {
      state.withLock { $0.threads += 1 }
      while true {
        while unsafe sem_wait(semaphore) != 0 {}
        let (work, closed) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
          guard state.next < state.work.count else { return (nil, state.closed) }
          let work = state.work[state.next]
          state.next += 1
          if state.next == state.work.count {
            state.work.removeAll(keepingCapacity: true)
            state.next = 0
          }
          return (work, false)
        }
        work?()
        if closed { return }
      }
    }
  }
}
