// Runs all tasks of the process on one thread, in an order that only the program decides.
import Dispatch
import Glibc
import Synchronization

private typealias Original = @convention(thin) (UnownedJob) -> Void
private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

/// The concurrency runtime's global executor, replaced by a queue that is emptied when told to.
final class ModelThread: TaskExecutor {
  static let shared = ModelThread()

  private struct State {
    var jobs: [UnownedJob] = []
    var next = 0
    /// What other threads made ready: it waits for `admit`, so that it does not matter how fast they are.
    var foreign: [UnownedJob] = []
    var thread: pthread_t?
  }
  private let state = Mutex(State())

  /// Runs `body` on the one thread, with all tasks of the process from now on. There is no way back.
  static func run(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    startPlainThread {
      let thread = pthread_self()
      shared.state.withLock { $0.thread = thread }
      let hook = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook")
      hook?.assumingMemoryBound(to: Optional<Hook>.self).pointee = { job, _ in ModelThread.shared.enqueue(job) }
      body()
      done.signal()
    }
    done.wait()
  }

  func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

  func enqueue(_ job: UnownedJob) {
    let thread = pthread_self()
    state.withLock { if $0.thread == thread { $0.jobs.append(job) } else { $0.foreign.append(job) } }
  }

  /// Runs what is ready; whether there was anything.
  func runReady() -> Bool {
    var ran = false
    while let job = takeNext() {
      job.runSynchronously(on: asUnownedTaskExecutor())
      ran = true
    }
    return ran
  }

  private func takeNext() -> UnownedJob? {
    state.withLock { state in
      guard state.next < state.jobs.count else {
        state.jobs.removeAll(keepingCapacity: true)
        state.next = 0
        return nil
      }
      state.next += 1
      return state.jobs[state.next - 1]
    }
  }

  /// Takes in what other threads made ready; whether there was anything.
  func admit() -> Bool {
    state.withLock { state in
      defer { state.foreign = [] }
      state.jobs += state.foreign
      return !state.foreign.isEmpty
    }
  }
}

private final class Start {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

private func startPlainThread(_ body: @escaping @Sendable () -> Void) {
  var thread = pthread_t()
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setstacksize(&attributes, 16 << 20)
  pthread_create(
    &thread, &attributes,
    { argument in
      if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
      return nil
    }, Unmanaged.passRetained(Start(body)).toOpaque())
  pthread_detach(thread)
}
