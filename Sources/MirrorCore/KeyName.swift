// Which keys have a name in the mount (s3mirror(7), NAMES).

enum KeyName {
  enum HiddenReason: String, Sendable {
    case emptyComponent = "it has an empty name between slashes"
    case dots = "one of its names is . or .."
    case tooLong = "one of its names is longer than 255 bytes"
    case nul = "one of its names holds a NUL byte"
    case shadowed = "a directory has the same name"
    case markerContent = "it ends in a slash, so it is a directory: its content can't be read"
  }

  /// Why one name between slashes can't appear in a directory; nil when it can.
  static func refusal(_ name: ArraySlice<UInt8>) -> HiddenReason? {
    if name.isEmpty { return .emptyComponent }
    if name.count > 255 { return .tooLong }
    if name.elementsEqual([0x2E]) || name.elementsEqual([0x2E, 0x2E]) { return .dots }
    return name.contains(0) ? .nul : nil
  }
}
