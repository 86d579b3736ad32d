// What is mounted, as /proc/self/mountinfo tells it: reading it never asks a file system anything, so it cannot hang.
public import MirrorPlatform

/// One line of /proc/self/mountinfo (proc(5)).
public struct MountRecord: Sendable, Equatable {
  /// `major:minor`, which also names the backing device in /sys/class/bdi.
  public let device: String
  public let mountPoint: String
  public let type: String
  public let source: String

  public var isMirror: Bool { type == MountOptions.fileSystemType }

  /// Nil for a line of another form, or a mount point that is not UTF-8.
  init?(line: ArraySlice<UInt8>) {
    let fields = line.split(separator: 0x20).map(Array.init)
    guard let dash = fields.firstIndex(of: [0x2D]), dash >= 6, fields.count > dash + 2 else { return nil }
    guard let mountPoint = String(validating: Self.unescaped(fields[4]), as: UTF8.self) else { return nil }
    device = String(decoding: fields[2], as: UTF8.self)
    self.mountPoint = mountPoint
    type = String(decoding: fields[dash + 1], as: UTF8.self)
    source = String(decoding: Self.unescaped(fields[dash + 2]), as: UTF8.self)
  }

  /// `\ooo`: space, tab, newline, backslash and `#` come as three octal digits.
  private static func unescaped(_ field: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    var index = 0
    while index < field.count {
      if field[index] == 0x5C, index + 3 < field.count {
        let digits = field[index + 1...index + 3]
        if digits.allSatisfy({ (0x30...0x37).contains($0) }) {
          bytes.append(digits.reduce(0) { $0 &* 8 &+ ($1 - 0x30) })
          index += 4
          continue
        }
      }
      bytes.append(field[index])
      index += 1
    }
    return bytes
  }
}

public enum MountTable {
  /// Every mount of this namespace, in the order of mounting.
  public static func records() throws(Errno) -> [MountRecord] {
    try FileSystem.read("/proc/self/mountinfo").split(separator: 0x0A).compactMap { MountRecord(line: $0) }
  }

  /// The mounts of this program, of whatever process.
  public static func mirrors() throws(Errno) -> [MountRecord] { try records().filter(\.isMirror) }

  /// What is mounted last, and so visible, on exactly this (resolved) path.
  public static func top(at path: String) throws(Errno) -> MountRecord? {
    try records().last { $0.mountPoint == path }
  }
}
