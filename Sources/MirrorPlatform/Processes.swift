// Other processes: which run, and which use a directory, as /proc tells it.
import Glibc

public enum Processes {
  /// Whether a process runs; one that has ended and was not waited for does not.
  public static func isRunning(_ process: Int32) -> Bool {
    guard let bytes = try? FileSystem.read("/proc/\(process)/stat") else { return false }
    // `PID (NAME) STATE …`, and the name may hold anything.
    let state = bytes.lastIndex(of: 0x29).map { bytes[($0 + 1)...].first { $0 != 0x20 } } ?? nil
    return state != UInt8(ascii: "Z") && state != UInt8(ascii: "X")
  }

  /// Processes whose working directory, root, program or open files lie in `directory`, with their names. The links
  /// are read, never followed, so a file system that hangs does no harm. Others' processes are seen by root only.
  public static func using(_ directory: String) -> [(process: Int32, name: String)] {
    let numbers = ((try? FileSystem.list("/proc")) ?? []).compactMap { Int32($0) }.sorted()
    return numbers.filter { uses($0, directory) }.map { ($0, text(of: $0)) }
  }

  private static func uses(_ process: Int32, _ directory: String) -> Bool {
    let own = "/proc/\(process)/"
    let files = ((try? FileSystem.list(own + "fd")) ?? []).map { "fd/\($0)" }
    return (["cwd", "root", "exe"] + files).contains { link in
      guard let target = try? FileSystem.target(of: own + link) else { return false }
      return target == directory || target.hasPrefix(directory + "/")
    }
  }

  private static func text(of process: Int32) -> String { String(decoding: name(of: process) ?? [], as: UTF8.self) }

  /// What a thread or process calls itself, at most 15 bytes; nil for one that has gone.
  public static func name(of thread: Int32) -> [UInt8]? {
    guard let bytes = try? FileSystem.read("/proc/\(thread)/comm") else { return nil }
    return bytes.last == 0x0A ? bytes.dropLast() : bytes
  }

  /// The process that a thread belongs to.
  public static func process(of thread: Int32) -> Int32? {
    guard let status = try? FileSystem.read("/proc/\(thread)/status") else { return nil }
    let line = status.split(separator: 0x0A).first { $0.starts(with: Array("Tgid:".utf8)) }
    return line.flatMap { Int32(String(decoding: $0.dropFirst(5).drop { $0 == 0x09 || $0 == 0x20 }, as: UTF8.self)) }
  }
}

extension FileSystem {
  /// readlink(2).
  public static func target(of link: String) throws(Errno) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try checked { unsafe readlink(link, &buffer, buffer.count) }
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
