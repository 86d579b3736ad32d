// The signals that end a daemon, or have it look at its configuration: blocked everywhere, taken by one thread.
import Glibc

public enum TerminationSignals {
  public static let all: [Int32] = [SIGTERM, SIGINT, SIGHUP]

  public static let hangUp = SIGHUP

  /// Blocks them in this thread and every thread it starts; SIGPIPE is ignored. Call before any thread exists.
  public static func block() {
    var set = signals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// sigwait(3): waits for the next of them.
  public static func wait() -> Int32 {
    var set = signals()
    var signal: Int32 = 0
    while unsafe sigwait(&set, &signal) != 0 {}
    return signal
  }

  public static func name(_ signal: Int32) -> String {
    switch signal {
    case SIGTERM: "SIGTERM"
    case SIGINT: "SIGINT"
    case SIGHUP: "SIGHUP"
    default: "signal \(signal)"
    }
  }

  private static func signals() -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in all { unsafe sigaddset(&set, signal) }
    return set
  }
}
