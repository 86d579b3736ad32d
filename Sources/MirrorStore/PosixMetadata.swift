// What an object's metadata say of the file that it was: owner, permissions, time, link.
import MirrorPlatform

/// A time of a file.
public struct FileTime: Hashable, Sendable {
  /// Since 1970.
  public let seconds: Int64
  public let nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }
}

/// As far as the tool that wrote the object said so; see `PosixFields.swift` for the tools.
public struct PosixMetadata: Hashable, Sendable {
  /// Read, write and execute of owner, group and others, and nothing else of st_mode.
  public var permissions: UInt32?
  public var owner: UInt32?
  public var group: UInt32?
  public var modified: FileTime?
  public var isLink = false
  /// Where a link leads; nil: that is the object's content.
  public var target: [UInt8]?

  public init() {}

  public var isEmpty: Bool { self == PosixMetadata() }
}

// As the catalogue keeps it: `mode=640 uid=1000 gid=100 mtime=1700000000.5 link target=a%20b`; empty for nothing.
extension PosixMetadata {
  public var text: String {
    var words: [String] = []
    if let permissions { words.append("mode=\(String(permissions, radix: 8))") }
    if let owner { words.append("uid=\(owner)") }
    if let group { words.append("gid=\(group)") }
    if let modified { words.append("mtime=\(modified.seconds):\(modified.nanoseconds)") }
    if isLink { words.append("link") }
    if let target { words.append("target=\(percentEncoded(target, keepingSlash: true))") }
    return words.joined(separator: " ")
  }

  public init(text: String) {
    for word in text.split(separator: " ") {
      let parts = word.split(separator: "=", maxSplits: 1)
      guard let name = parts.first else { continue }
      let value = parts.count > 1 ? parts[1] : ""
      switch name {
      case "mode": permissions = UInt32(value, radix: 8)
      case "uid": owner = UInt32(value)
      case "gid": group = UInt32(value)
      case "mtime":
        let numbers = value.split(separator: ":")
        if numbers.count == 2, let seconds = Int64(numbers[0]), let rest = Int32(numbers[1]) {
          modified = FileTime(seconds: seconds, nanoseconds: rest)
        }
      case "link": isLink = true
      case "target": target = percentDecoded(value.utf8, form: false)
      default: break
      }
    }
  }
}
