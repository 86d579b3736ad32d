// Mounts and daemons as the system sees them, for taking them away whatever state they are in.
import Glibc
import MirrorPlatform
import Synchronization

/// The mount table of this process.
enum MountTable {
  static func contains(_ point: String) -> Bool {
    let table = String(decoding: (try? FileSystem.read("/proc/self/mountinfo")) ?? [], as: UTF8.self)
    return table.split(separator: "\n").contains { line in
      let words = line.split(separator: " ")
      return words.count > 4 && words[4] == point
    }
  }

  /// Takes a mount from the tree, dead or alive.
  static func detach(_ point: String) {
    for _ in 0..<3 where contains(point) {
      _ = try? runBlocking(["umount", "-l", point], limit: .seconds(5))
      if contains(point) { _ = try? runBlocking(["fusermount3", "-uz", point], limit: .seconds(5)) }
    }
  }
}

/// The processes that serve a mount point, known by their arguments.
enum Daemons {
  static func of(_ point: String) -> [pid_t] {
    ((try? FileSystem.list("/proc")) ?? []).compactMap { pid_t($0) }.filter { process in
      guard process != getpid(), let line = try? FileSystem.read("/proc/\(process)/cmdline") else { return false }
      let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      return words.first.map { $0.hasSuffix("s3mirror") } == true && words.contains(point)
    }
  }

  /// SIGKILL, and waits for the end.
  static func kill(_ point: String) {
    let processes = of(point)
    for process in processes { _ = Glibc.kill(process, SIGKILL) }
    for _ in 0..<2000 where processes.contains(where: { Glibc.kill($0, 0) == 0 && !isZombie($0) }) {
      pause(.milliseconds(1))
    }
  }

  private static func isZombie(_ process: pid_t) -> Bool {
    let text = String(decoding: (try? FileSystem.read("/proc/\(process)/stat")) ?? [], as: UTF8.self)
    return text.split(separator: ")").last?.split(separator: " ").first == "Z"
  }
}

/// Kills a mount's daemon after a time, unless released before: a test that waits for the mount then fails, not hangs.
final class Watchdog: Sendable {
  private let token = Token()
  private final class Token: Sendable { let released = Atomic(false) }

  init(point: String, limit: Duration) {
    let token = self.token
    let end = ContinuousClock.now + limit
    detachThread {
      while !token.released.load(ordering: .acquiring) {
        if ContinuousClock.now >= end {
          Daemons.kill(point)
          return MountTable.detach(point)
        }
        pause(.milliseconds(50))
      }
    }
  }
  deinit { token.released.store(true, ordering: .releasing) }
}
