// How a tree appears in the mount, and the option text that libfuse is given for it.
import Glibc
public import MirrorPlatform

/// What holds for all files, whatever their objects' metadata say.
public struct FixedAttributes: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let owner = FixedAttributes(rawValue: 1)
  public static let group = FixedAttributes(rawValue: 2)
  public static let permissions = FixedAttributes(rawValue: 4)
}

/// The settings of one mount; the defaults are those of an ordinary user's read-only mount.
public struct MountOptions: Sendable {
  /// What `mount` and `df` show as the source.
  public var source: String
  /// Lets other users in (fuse(8) allow_other); permissions are checked by the kernel either way.
  public var allowOther = false
  public var uid: UInt32 = geteuid()
  public var gid: UInt32 = getegid()
  /// Permission bits of files and of directories.
  public var fileMode: UInt32 = 0o444
  public var directoryMode: UInt32 = 0o555
  public var fixed: FixedAttributes = []
  /// How far the kernel reads ahead, where sysfs lets us say so; READs come in at most 1 MiB.
  public var readAhead: ByteCount = .mebibytes(1)
  /// The most threads that read requests; none of them ever waits.
  public var threads: UInt32 = 4
  /// Programs, by name, that are served by the tree that sends no request.
  public var quietFor: [String] = []
  /// Lets the kernel read whole files by itself, where it can: the path of any file beside theirs, to find that out.
  public var passthroughBeside: String?

  public init(source: String) { self.source = source }

  static let fileSystemType = "fuse.s3mirror"

  /// `-o` for fuse_session_new(3). No max_read: without one the kernel's limit is what INIT agrees on, 1 MiB.
  var text: String {
    var words = ["ro", "nosuid", "nodev", "default_permissions", "subtype=s3mirror"]
    if allowOther { words.append("allow_other") }
    words.append("fsname=" + Self.escaped(source))
    return words.joined(separator: ",")
  }

  /// fuse_opt(3) takes a backslash before a comma or another backslash; a NUL would end the text.
  static func escaped(_ value: String) -> String {
    var text = ""
    for character in value.unicodeScalars where character != "\0" {
      if character == "," || character == "\\" { text += "\\" }
      text.unicodeScalars.append(character)
    }
    return text
  }
}
