// Threads of our own, for work that blocks, and the bridge from them to async work.
import CGlibc
import Glibc
import Synchronization

/// Starts a detached thread named for `ps -T` (at most 15 bytes). A `background` one gives way to others where they
/// want the same processor. Where the system has none to give it waits for one, ten seconds long.
public func startThread(_ name: String, background: Bool = false, _ body: @escaping @Sendable () -> Void) {
  for _ in 0..<500 {
    do throws(Errno) { return try tryThread(name, background: background, body) } catch { pause(.milliseconds(20)) }
  }
  preconditionFailure("no thread can be started")
}

/// The same, for what can be done without. Throws pthread_create(3)'s error: EAGAIN at a limit of threads.
public func tryThread(
  _ name: String, background: Bool = false, _ body: @escaping @Sendable () -> Void
) throws(Errno) {
  let box = unsafe Unmanaged.passRetained(ThreadBody(name: name, isBackground: background, run: body))
  var thread = pthread_t()
  let error = unsafe pthread_create(&thread, nil, threadMain, box.toOpaque())
  if error != 0 {
    unsafe box.release()
    throw Errno(rawValue: error)
  }
  pthread_detach(thread)
}

private final class ThreadBody {
  let name: String
  let isBackground: Bool
  let run: @Sendable () -> Void
  init(name: String, isBackground: Bool, run: @escaping @Sendable () -> Void) {
    self.name = name
    self.isBackground = isBackground
    self.run = run
  }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument = unsafe argument else { return nil }
  let body = unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
  unsafe cglibc_name_thread(body.name)
  if body.isBackground { cglibc_yield_thread() }
  body.run()
  return nil
}

/// A value that one thread sets once and another waits for.
@safe public final class Promise<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  public init() { unsafe sem_init(semaphore, 0, 0) }
  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  /// The first value counts.
  public func set(_ new: Value) {
    let first = value.withLock { old in
      if old != nil { return false }
      old = new
      return true
    }
    if first { unsafe sem_post(semaphore) }
  }

  public var isSet: Bool { value.withLock { $0 != nil } }

  /// Blocks the thread until there is a value; for one thread that is not of the cooperative pool.
  public func wait() -> Value {
    while true {
      if let value = value.withLock({ $0 }) { return value }
      _ = unsafe sem_wait(semaphore)
    }
  }

  /// Blocks at most so long.
  public func wait(atMost limit: Duration) -> Value? {
    var end = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &end)
    let nanoseconds = Int64(end.tv_nsec) + limit.nanosecondsClamped
    end.tv_sec += Int(nanoseconds / 1_000_000_000)
    end.tv_nsec = Int(nanoseconds % 1_000_000_000)
    while value.withLock({ $0 == nil }) {
      if unsafe sem_timedwait(semaphore, &end) != 0 && errno == ETIMEDOUT { break }
    }
    return value.withLock { $0 }
  }
}

/// Waits on this thread for async work; never on a thread of the cooperative pool.
public func waitFor<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
  let promise = Promise<Value>()
  Task { promise.set(await work()) }
  return promise.wait()
}

/// nanosleep(2): this thread does nothing for so long.
public func pause(_ duration: Duration) {
  let nanoseconds = max(0, duration.nanosecondsClamped)
  var rest = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  var left = timespec()
  while unsafe nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
}
