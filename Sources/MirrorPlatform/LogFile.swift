// The file of a log: begun anew when it has grown long, or when something else has moved it away.
import Glibc
import Synchronization

/// Appends whole lines. Safe to share, also between processes that append to the same file.
///
/// A file that reaches `limit` becomes `PATH.1`, in place of an older one. Whoever moves or deletes the file, as
/// logrotate(8) does, finds the next line in a new one.
public final class LogFile: Sendable {
  /// Bytes.
  public static let usualLimit: Int64 = 16 << 20

  private let path: String
  private let limit: Int64
  private let current: Mutex<File>

  init(_ path: String, limit: Int64) throws(Errno) {
    self.path = path
    self.limit = limit
    current = Mutex(try Self.open(path))
  }

  private static func open(_ path: String) throws(Errno) -> File {
    File(owning: try checked { unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) })
  }

  func append(_ line: [UInt8]) {
    let file = current.withLock { file in
      if let next = renewed(file) { file = next }
      return file
    }
    _ = unsafe Glibc.write(file.descriptor, line, line.count)
  }

  /// The file to go on with; nil: the same.
  private func renewed(_ file: File) -> File? {
    guard let held = try? file.attributes() else { return nil }
    let found = try? FileSystem.attributes(path)
    let isOurs = found?.inode == held.inode && found?.device == held.device
    if isOurs {
      guard held.size >= limit, (try? FileSystem.rename(path, to: path + ".1")) != nil else { return nil }
    }
    guard let next = try? Self.open(path) else { return nil }
    // A crash writes its last word to standard error, which leads here too.
    if let errors = try? FileAttributes(descriptor: 2), errors.inode == held.inode, errors.device == held.device {
      dup2(next.descriptor, 2)
    }
    return next
  }
}

enum Journal {
  /// Standard error leads to systemd's journal, which reads a priority before each line (systemd.exec(5),
  /// $JOURNAL_STREAM).
  static var isStandardError: Bool {
    guard let named = ThisProcess.environment("JOURNAL_STREAM"), let errors = try? FileAttributes(descriptor: 2) else {
      return false
    }
    return named == "\(errors.device):\(errors.inode)"
  }
}
