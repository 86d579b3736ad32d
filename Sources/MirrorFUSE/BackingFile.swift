// A file that the kernel reads by itself on behalf of a node: its registration with the FUSE device.
import CFUSE
import Glibc
import MirrorPlatform

/// A registered file. The kernel holds it until this is released, which must not be before its last handle is.
final class BackingFile: Sendable {
  let id: Int32
  private let device: File
  /// What keeps the content as it is.
  private let lease: any AnyObject & Sendable

  /// FUSE_DEV_IOC_BACKING_OPEN; the descriptor is not needed afterwards.
  ///
  /// - Throws: EPERM without CAP_SYS_ADMIN, ELOOP on a file system that is stacked too deep, EOPNOTSUPP for one whose
  ///   files can't be read this way.
  init(_ file: File, on device: File, lease: any AnyObject & Sendable) throws(Errno) {
    let id = cfuse_backing_open(device.descriptor, file.descriptor)
    guard id > 0 else { throw Errno(rawValue: id < 0 ? -id : EINVAL) }
    self.id = id
    self.device = device
    self.lease = lease
  }

  deinit { _ = cfuse_backing_close(device.descriptor, id) }

  /// How deep the file systems are stacked that a file may lie on, if this one may: a second level rules out stacking
  /// anything on the mount itself, so it is taken only where the first does not do.
  static func depth(for path: String) -> UInt32 { unsafe cfuse_is_stacked(path) != 0 ? 2 : 1 }
}
