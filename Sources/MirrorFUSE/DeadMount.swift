// Mounts that outlived their process: finding them, and taking them away.
public import MirrorPlatform

public enum DeadMount {
  /// Whether one of our mounts is the visible one on this path.
  public static func isMounted(_ path: String) -> Bool { mirror(at: path) != nil }

  /// Whether the mount's process is gone (ENOTCONN). statfs(2), since stat(2) may still answer from kept attributes.
  public static func isDead(_ path: String) -> Bool {
    guard isMounted(path) else { return false }
    do throws(Errno) {
      _ = try FileSystem.space(path)
      return false
    } catch { return error == .notConnected }
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

  static func mirror(at path: String) -> MountRecord? {
    let resolved = (try? FileSystem.resolve(path)) ?? path
    guard let top = try? MountTable.top(at: resolved), top.isMirror else { return nil }
    return top
  }
}
