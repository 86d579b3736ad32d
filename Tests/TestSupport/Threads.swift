// Threads for servers that block, and a way for tests to wait for blocking calls without holding a pool thread.
import Glibc

private final class ThreadBody {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs `body` on a detached thread of its own.
public func detachThread(_ body: @escaping @Sendable () -> Void) {
  let box = Unmanaged.passRetained(ThreadBody(body))
  var thread = pthread_t()
  let failed = pthread_create(
    &thread, nil,
    { pointer in
      if let pointer { Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().run() }
      return nil
    }, box.toOpaque())
  precondition(failed == 0, "pthread_create: error \(failed)")
  pthread_detach(thread)
}

/// The value of a blocking call, made on a thread of its own.
public func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    detachThread { continuation.resume(with: Result { try body() }) }
  }
}

/// Blocks this thread.
func pause(_ duration: Duration) {
  let (seconds, attoseconds) = duration.components
  guard seconds >= 0, attoseconds >= 0 else { return }
  var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  var rest = timespec()
  while nanosleep(&time, &rest) == -1, errno == EINTR { time = rest }
}

/// Asks again every few milliseconds until `condition` holds; false when it did not in time.
public func eventually(within limit: Duration = .seconds(10), _ condition: @Sendable () throws -> Bool) async rethrows
  -> Bool
{
  let end = ContinuousClock.now + limit
  while true {
    if try condition() { return true }
    if ContinuousClock.now >= end { return false }
    try? await Task.sleep(for: .milliseconds(3))
  }
}
