// Shell patterns over bytes: `*` `?` `[a-z]` within a name, `**` across names.

/// A pattern; one without `/` is matched against the last name of a path, else against the whole path. A `/` at its end
/// says that it names directories, and `/` alone is the root.
struct Glob: Hashable, Sendable {
  let text: String
  private let pattern: [UInt8]
  private let anchored: Bool
  let isForDirectories: Bool

  init(_ text: String) {
    self.text = text
    var bytes = Array(text.utf8)
    isForDirectories = bytes.last == 0x2F
    if isForDirectories, bytes.count > 1 { bytes.removeLast() }
    anchored = bytes.contains(0x2F)
    if bytes.first == 0x2F { bytes.removeFirst() }
    pattern = bytes
  }

  func matches(_ path: ArraySlice<UInt8>) -> Bool {
    if anchored { return Self.match(pattern[...], path) }
    let start = path.lastIndex(of: 0x2F).map { $0 + 1 } ?? path.startIndex
    return Self.match(pattern[...], path[start...])
  }

  /// Whether a name holds what means something in a pattern.
  static func isPattern(_ name: [UInt8]) -> Bool { name.contains { $0 == 0x2A || $0 == 0x3F || $0 == 0x5B } }

  /// Whether a pattern without `/` matches one name.
  static func matches(_ pattern: [UInt8], _ name: [UInt8]) -> Bool { match(pattern[...], name[...]) }

  private static func match(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
    var pattern = pattern
    var text = text
    while let token = pattern.first {
      if token == 0x2A { return matchStar(pattern, text) }
      guard let byte = text.first else { return false }
      switch token {
      case 0x3F:
        if byte == 0x2F { return false }
        pattern.removeFirst()
      case 0x5B:
        guard let (matched, rest) = matchClass(pattern, byte) else { fallthrough }
        if !matched { return false }
        pattern = rest
      default:
        if byte != token { return false }
        pattern.removeFirst()
      }
      text.removeFirst()
    }
    return text.isEmpty
  }

  private static func matchStar(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
    let stars = pattern.prefix { $0 == 0x2A }.count
    var rest = pattern.dropFirst(stars)
    let crosses = stars > 1
    // `**/` also stands for no directory at all.
    if crosses, rest.first == 0x2F, match(rest.dropFirst(), text) { return true }
    if rest.isEmpty { return crosses || !text.contains(0x2F) }
    if crosses, rest.first == 0x2F, text.isEmpty { rest = rest.dropFirst() }
    var tail = text
    while true {
      if match(rest, tail) { return true }
      guard let byte = tail.first, crosses || byte != 0x2F else { return false }
      tail.removeFirst()
    }
  }

  /// Nil when the bracket does not close: then it stands for itself.
  private static func matchClass(_ pattern: ArraySlice<UInt8>, _ byte: UInt8) -> (Bool, ArraySlice<UInt8>)? {
    var index = pattern.startIndex + 1
    var negated = false
    if index < pattern.endIndex, pattern[index] == 0x21 || pattern[index] == 0x5E {
      negated = true
      index += 1
    }
    guard let close = pattern[min(index + 1, pattern.endIndex)...].firstIndex(of: 0x5D) else { return nil }
    var matched = false
    while index < close {
      if index + 2 < close, pattern[index + 1] == 0x2D {
        matched = matched || (pattern[index]...max(pattern[index], pattern[index + 2])).contains(byte)
        index += 3
      } else {
        matched = matched || pattern[index] == byte
        index += 1
      }
    }
    return (matched != negated && byte != 0x2F, pattern[(close + 1)...])
  }
}
