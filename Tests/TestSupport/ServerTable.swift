// What the tests found of each real server, written down for the table in the manual.
import Glibc
import MirrorPlatform
import Synchronization

/// Lines `row TAB server TAB value` in $S3MIRROR_TEST_SERVER_TABLE, if that is set.
public enum ServerTable {
  private static let lock = Mutex(())

  public static func note(_ row: String, _ server: ServerKind, _ value: String) {
    guard let path = startEnvironment["S3MIRROR_TEST_SERVER_TABLE"] else { return }
    let line = Array("\(row)\t\(server.rawValue)\t\(value)\n".utf8)
    lock.withLock { _ in
      let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
      _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      close(descriptor)
    }
  }

  public static func note(_ row: String, _ server: ServerKind, _ value: Bool) {
    note(row, server, value ? "yes" : "no")
  }
}
