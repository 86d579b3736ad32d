// Where a running mount's control socket lies: a directory that only its user can enter.
import MirrorPlatform

public enum RuntimeDirectory {
  /// Where sockets of this user may lie, best first: the system may be read-only, or have no runtime directory.
  public static func candidates() -> [String] {
    let user = ThisProcess.user
    let fallback = "/tmp/s3mirror-\(user)"
    if user == 0 { return ["/run/s3mirror", fallback] }
    if let runtime = ThisProcess.environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
      return [runtime + "/s3mirror", fallback]
    }
    return [fallback]
  }

  /// Where to look for mounts: also those of others, for root.
  static func searched() -> [String] {
    guard ThisProcess.user == 0, let users = try? FileSystem.list("/run/user") else { return candidates() }
    return candidates() + users.sorted().map { "/run/user/\($0)/s3mirror" }
  }

  /// The socket's path in the first directory that can be had.
  static func socketPath(forMountAt mountPoint: String) throws(CommandFailure) -> String {
    var problem = ""
    for directory in candidates() {
      do throws(Errno) {
        try FileSystem.makeDirectory(directory, mode: 0o700)
        if try isPrivate(directory) { return path(in: directory, mountPoint) }
        problem = "\(directory) is not a directory of this user alone"
      } catch { problem = "\(directory): \(error)" }
    }
    throw CommandFailure(.failure, "no place for the control socket: \(problem)")
  }

  /// Nobody else can put a socket there, or enter.
  static func isPrivate(_ directory: String) throws(Errno) -> Bool {
    let attributes = try FileSystem.attributes(directory)
    return attributes.kind == .directory && attributes.permissions & 0o077 == 0
      && (attributes.owner == ThisProcess.user || ThisProcess.user == 0)
  }

  static func path(in directory: String, _ mountPoint: String) -> String {
    let hash = stableHash(Array(mountPoint.utf8))
    let digits = String(hash, radix: 16)
    return directory + "/" + String(repeating: "0", count: 16 - digits.count) + digits + ControlServer.suffix
  }
}
