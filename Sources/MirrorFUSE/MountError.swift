// Why a mount could not be made or ended, with what to do about it.

/// A failed mount or unmount.
public struct MountError: Error, CustomStringConvertible, Sendable {
  public enum Code: Sendable {
    /// /dev/fuse is not there: no FUSE in this kernel or container.
    case deviceMissing
    /// /dev/fuse may not be opened by this user.
    case deviceDenied
    /// fusermount3(1), which mounts for ordinary users, is not installed.
    case helperMissing
    /// allow_other needs `user_allow_other` in /etc/fuse.conf.
    case allowOtherRefused
    case mountPointMissing
    case mountPointNotDirectory
    /// Something is mounted there, or in use when unmounting.
    case busy
    /// A mount whose process has died is still there.
    case dead
    /// This user may not mount there.
    case mountPointDenied
    case notMounted
    /// The kernel or libfuse refused; `detail` has its words.
    case refused
  }

  public let code: Code
  public let path: String
  /// What the kernel or libfuse said; may be empty.
  public let detail: String

  public init(_ code: Code, path: String, detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }

  /// One sentence on what is wrong, one on what to do.
  public var description: String {
    let text = "\(complaint). \(advice)"
    return detail.isEmpty ? text : "\(text) (\(detail))"
  }

  private var complaint: String {
    switch code {
    case .deviceMissing: "/dev/fuse does not exist"
    case .deviceDenied: "/dev/fuse cannot be opened"
    case .helperMissing: "fusermount3 is not installed"
    case .allowOtherRefused: "allow-other is not permitted to ordinary users here"
    case .mountPointMissing: "mount point \(path) does not exist"
    case .mountPointNotDirectory: "mount point \(path) is not a directory"
    case .busy: "\(path) is in use"
    case .dead: "\(path) is a mount whose process has died"
    case .mountPointDenied: "mount point \(path) is not yours to mount on"
    case .notMounted: "\(path) is not mounted"
    case .refused: "mounting on \(path) was refused"
    }
  }

  private var advice: String {
    switch code {
    case .deviceMissing: "Load the module (modprobe fuse); a container needs --device /dev/fuse and --cap-add SYS_ADMIN"
    case .deviceDenied: "Run as root, or make it accessible (chmod 666 /dev/fuse)"
    case .helperMissing: "Install the fuse3 package, or mount as root"
    case .allowOtherRefused: "Add the line user_allow_other to /etc/fuse.conf, or leave the option out"
    case .mountPointMissing: "Make it first (mkdir -p \(path))"
    case .mountPointNotDirectory: "Choose a directory"
    case .busy: "Unmount it first; s3mirror unmount --lazy detaches it even while programs use it"
    case .dead: "Detach it with s3mirror unmount --lazy \(path)"
    case .mountPointDenied: "Choose a directory that you own and may write to, or mount as root"
    case .notMounted: "Nothing needs to be done"
    case .refused: "In a container, mounting needs --cap-add SYS_ADMIN; otherwise see the message"
    }
  }
}
