// Ending a mount: umount2(2) where we may, fusermount3(1) where only it may.
import CFUSE
import Glibc
import MirrorPlatform

enum Unmounting {
  static func unmount(_ path: String, lazy: Bool) throws(MountError) {
    if unsafe cfuse_unmount(path, lazy ? 1 : 0) == 0 { return }
    let error = Errno.last
    switch error {
    case .permission: try unmountByHelper(path, lazy: lazy)
    case .busy: throw MountError(.busy, path: path)
    case .invalid, .noEntry: throw MountError(.notMounted, path: path)
    default: throw MountError(.refused, path: path, detail: error.description)
    }
  }

  /// umount2(2) MNT_FORCE, which ends the connection first, whether the mount then goes or not. For root only.
  static func abort(_ path: String) { _ = unsafe cfuse_abort(path) }

  private static func unmountByHelper(_ path: String, lazy: Bool) throws(MountError) {
    guard let helper = MountPoint.helper() else { throw MountError(.helperMissing, path: path) }
    let arguments = [helper, "-u", "-q"] + (lazy ? ["-z"] : []) + ["--", path]
    guard let status = run(arguments) else {
      throw MountError(.refused, path: path, detail: "\(helper) could not be started")
    }
    guard status == 0 else { throw MountError(.busy, path: path) }
  }

  /// Runs a program to its end: its exit status, nil when it did not start.
  private static func run(_ arguments: [String]) -> Int32? {
    var pointers = unsafe arguments.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    var child = pid_t()
    guard unsafe posix_spawn(&child, arguments[0], nil, nil, pointers, environ) == 0 else { return nil }
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) == -1 { if Errno.last != .interrupted { return nil } }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
  }
}
