// Whether a mount can be made here at all: checked before libfuse, whose own messages name no remedy.
import Glibc
import MirrorPlatform

public enum MountPoint {
  /// Whether this machine lets this user mount at all: the device, and the helper of ordinary users.
  public static func checkMachine(allowOther: Bool, for path: String = "/") throws(MountError) {
    try checkDevice(path)
    guard geteuid() != 0 else { return }
    if helper() == nil { throw MountError(.helperMissing, path: path) }
    if allowOther, !configurationAllowsOther(readConfiguration()) { throw MountError(.allowOtherRefused, path: path) }
  }

  /// The resolved path, ready to be mounted on.
  static func prepare(_ path: String, allowOther: Bool) throws(MountError) -> String {
    try checkMachine(allowOther: allowOther, for: path)
    let resolved = try checkDirectory(path)
    if geteuid() != 0, unsafe access(resolved, W_OK) != 0 { throw MountError(.mountPointDenied, path: path) }
    return resolved
  }

  private static func checkDevice(_ path: String) throws(MountError) {
    do throws(Errno) {
      _ = try File.open("/dev/fuse", .readWrite)
    } catch {
      switch error {
      case .accessDenied, .permission: throw MountError(.deviceDenied, path: path, detail: error.description)
      default: throw MountError(.deviceMissing, path: path, detail: error.description)
      }
    }
  }

  private static func checkDirectory(_ path: String) throws(MountError) -> String {
    // The mount table is asked before stat(2), which would hang in a mount that hangs.
    if DeadMount.isMounted(path) { throw MountError(DeadMount.isDead(path) ? .dead : .busy, path: path) }
    let kind: FileAttributes.Kind
    let resolved: String
    do throws(Errno) {
      resolved = try FileSystem.resolve(path)
      kind = try FileSystem.attributes(resolved).kind
    } catch { throw failure(error, path) }
    guard kind == .directory else { throw MountError(.mountPointNotDirectory, path: path) }
    return resolved
  }

  private static func failure(_ error: Errno, _ path: String) -> MountError {
    switch error {
    case .noEntry: MountError(.mountPointMissing, path: path)
    case .notDirectory: MountError(.mountPointNotDirectory, path: path)
    case .notConnected: MountError(.dead, path: path)
    case .accessDenied, .permission: MountError(.mountPointDenied, path: path)
    default: MountError(.refused, path: path, detail: error.description)
    }
  }

  /// Where fusermount3(1) is.
  static func helper() -> String? {
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
    let directories = path.split(separator: ":").map(String.init) + ["/usr/bin", "/bin", "/usr/local/bin"]
    return directories.map { $0 + "/fusermount3" }.first { unsafe access($0, X_OK) == 0 }
  }

  private static func readConfiguration() -> [UInt8] { (try? FileSystem.read("/etc/fuse.conf")) ?? [] }

  /// fuse.conf(5): the words stand alone on a line.
  static func configurationAllowsOther(_ bytes: [UInt8]) -> Bool {
    bytes.split(separator: 0x0A).contains { line in
      let text = line.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x23 }
      let end = text.lastIndex { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }
      return end.map { Array(text[...$0]) } == Array("user_allow_other".utf8)
    }
  }
}
