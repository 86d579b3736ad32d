// Which programs are answered without a request: known by the name of the thread that asks, or of its process.
import MirrorPlatform
import Synchronization

/// The programs of `--quiet-for`, and who of the latest callers is one of them.
final class QuietCallers: Sendable {
  /// The kernel keeps so many bytes of a name (TASK_COMM_LEN without its NUL).
  private static let longestName = 15
  /// A thread may change its name, and its number may be given to another.
  private static let memory = Duration.seconds(1)

  private let names: Set<[UInt8]>
  private let clock: any Clock
  private let known = Mutex<[Int32: (isQuiet: Bool, asOf: Instant)]>([:])

  /// Nil where nobody is quiet: then no caller is looked at.
  init?(_ names: [String], clock: any Clock = SystemClock()) {
    if names.isEmpty { return nil }
    self.names = Set(names.map { Array($0.utf8.prefix(Self.longestName)) })
    self.clock = clock
  }

  /// `caller` is the thread that waits in the kernel; 0, one of another pid namespace, is nobody we know.
  func contains(_ caller: Int32) -> Bool {
    guard caller > 0 else { return false }
    let now = clock.now()
    if let known = known.withLock({ $0[caller] }), now - known.asOf < Self.memory { return known.isQuiet }
    let isQuiet = isNamed(caller)
    known.withLock { known in
      if known.count >= 1024 { known = [:] }
      known[caller] = (isQuiet, now)
    }
    return isQuiet
  }

  private func isNamed(_ caller: Int32) -> Bool {
    guard let name = Processes.name(of: caller) else { return false }
    if names.contains(name) { return true }
    guard let process = Processes.process(of: caller), process != caller else { return false }
    return Processes.name(of: process).map(names.contains) ?? false
  }
}
