// Mounts that outlived their process: finding them, and taking them away.
public import MirrorPlatform
import Synchronization

public enum DeadMount {
  /// Whether one of our mounts is the visible one on this path.
  public static func isMounted(_ path: String) -> Bool { mirror(at: path) != nil }

  /// Whether the mount's process is gone (ENOTCONN).
  public static func isDead(_ path: String) -> Bool {
    isMounted(path) && answer(path) == .failure(.notConnected)
  }

  /// Whether nobody answers, though the kernel does not know that the process is gone: of a process that was killed a
  /// thread may be left that waits, in the kernel, for a directory's lock that a caller holds until he is answered.
  public static func isSilent(_ path: String) -> Bool { isMounted(path) && answer(path) == nil }

  /// So long a process may take that answers from memory.
  private static let patience: Duration = .seconds(2)

  /// What statfs(2) says, since stat(2) may still answer from kept attributes; nil when nothing came in time. The thread
  /// that asks then waits on.
  private static func answer(_ path: String) -> Result<Bool, Errno>? {
    let answer = Answer()
    startThread("statfs") {
      do throws(Errno) {
        _ = try FileSystem.space(path)
        answer.result.withLock { $0 = .success(true) }
      } catch { answer.result.withLock { $0 = .failure(error) } }
    }
    let clock = SystemClock()
    let start = clock.now()
    while clock.now() - start < patience {
      if let result = answer.result.withLock({ $0 }) { return result }
      pause(.milliseconds(1))
    }
    return answer.result.withLock { $0 }
  }

  private final class Answer: Sendable {
    let result = Mutex<Result<Bool, Errno>?>(nil)
  }

  /// The dead ones among all our mounts.
  public static func all() throws(Errno) -> [MountRecord] {
    try MountTable.mirrors().filter { isDead($0.mountPoint) }
  }

  /// Detaches the visible mount of ours on this path, at once, whoever uses it.
  public static func detach(_ path: String) throws(MountError) {
    guard let record = mirror(at: path) else { throw MountError(.notMounted, path: path) }
    try Unmounting.unmount(record.mountPoint, lazy: true)
  }

  /// The same for one whose process is gone without the kernel knowing: all that wait in it are answered ENOTCONN.
  public static func abort(_ path: String) throws(MountError) {
    guard let record = mirror(at: path) else { throw MountError(.notMounted, path: path) }
    Unmounting.abort(record.mountPoint)
    try Unmounting.unmount(record.mountPoint, lazy: true)
  }

  static func mirror(at path: String) -> MountRecord? {
    let resolved = (try? FileSystem.resolve(path)) ?? path
    guard let top = try? MountTable.top(at: resolved), top.isMirror else { return nil }
    return top
  }
}
