// Shell patterns over bytes: `*` `?` `[a-z]` within a name, `**` across names.

/// A pattern; one without `/` is matched against the last name of a path, else against the whole path. A `/` at its end
/// says that it names directories, and `/` alone is the root.
struct Glob: Hashable, Sendable {
  let text: String
  private let tokens: [Token]
  private let anchored: Bool
  let isForDirectories: Bool

  init(_ text: String) {
    self.text = text
    var bytes = Array(text.utf8)
    isForDirectories = bytes.last == 0x2F
    if isForDirectories, bytes.count > 1 { bytes.removeLast() }
    anchored = bytes.contains(0x2F)
    if bytes.first == 0x2F { bytes.removeFirst() }
    tokens = Token.tokens(bytes)
  }

  func matches(_ path: ArraySlice<UInt8>) -> Bool {
    if anchored { return Self.match(tokens, path) }
    let start = path.lastIndex(of: 0x2F).map { $0 + 1 } ?? path.startIndex
    return Self.match(tokens, path[start...])
  }

  /// Whether a name holds what means something in a pattern.
  static func isPattern(_ name: [UInt8]) -> Bool { name.contains { $0 == 0x2A || $0 == 0x3F || $0 == 0x5B } }

  /// Whether a pattern without `/` matches one name.
  static func matches(_ pattern: [UInt8], _ name: [UInt8]) -> Bool { match(Token.tokens(pattern), name[...]) }

  /// Byte by byte, with all places of the pattern that fit so far: no pattern takes more than its length for each.
  private static func match(_ tokens: [Token], _ text: ArraySlice<UInt8>) -> Bool {
    var places = [Bool](repeating: false, count: tokens.count + 1)
    places[0] = true
    reach(&places, tokens)
    for byte in text {
      var next = [Bool](repeating: false, count: tokens.count + 1)
      var isAlive = false
      for (place, token) in tokens.enumerated() where places[place] {
        switch token {
        case .star(let crosses): if crosses || byte != 0x2F { next[place] = true } else { continue }
        case _ where token.takes(byte): next[place + 1] = true
        default: continue
        }
        isAlive = true
      }
      guard isAlive else { return false }
      places = next
      reach(&places, tokens)
    }
    return places[tokens.count]
  }

  /// What is reached without a byte: a star may stand for nothing, and `**/`, as long as it has taken none, for no
  /// directory at all.
  private static func reach(_ places: inout [Bool], _ tokens: [Token]) {
    for (place, token) in tokens.enumerated() where places[place] {
      switch token {
      case .star: places[place + 1] = true
      case .directories: (places[place + 1], places[place + 3]) = (true, true)
      default: break
      }
    }
  }
}

/// A part of a pattern.
private enum Token: Hashable, Sendable {
  case byte(UInt8)
  /// `?`
  case any
  /// `[a-z]`, `[!a-z]`
  case members([ClosedRange<UInt8>], isNegated: Bool)
  /// `*`, and `**`, which crosses `/`.
  case star(crosses: Bool)
  /// Before a `**/`, which may be left out.
  case directories

  func takes(_ byte: UInt8) -> Bool {
    switch self {
    case .byte(let own): byte == own
    case .any: byte != 0x2F
    case .members(let ranges, let isNegated): byte != 0x2F && ranges.contains { $0.contains(byte) } != isNegated
    case .star, .directories: false
    }
  }

  static func tokens(_ pattern: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    var rest = pattern[...]
    while let byte = rest.first {
      if byte == 0x2A {
        let stars = rest.prefix { $0 == 0x2A }.count
        rest = rest.dropFirst(stars)
        if stars > 1, rest.first == 0x2F { tokens.append(.directories) }
        tokens.append(.star(crosses: stars > 1))
      } else if byte == 0x5B, let (token, next) = members(rest) {
        tokens.append(token)
        rest = next
      } else {
        tokens.append(byte == 0x3F ? .any : .byte(byte))
        rest = rest.dropFirst()
      }
    }
    return tokens
  }

  /// Nil when the bracket does not close: then it stands for itself.
  private static func members(_ pattern: ArraySlice<UInt8>) -> (Token, ArraySlice<UInt8>)? {
    var index = pattern.startIndex + 1
    let isNegated = index < pattern.endIndex && (pattern[index] == 0x21 || pattern[index] == 0x5E)
    if isNegated { index += 1 }
    guard let close = pattern[min(index + 1, pattern.endIndex)...].firstIndex(of: 0x5D) else { return nil }
    var ranges: [ClosedRange<UInt8>] = []
    while index < close {
      if index + 2 < close, pattern[index + 1] == 0x2D {
        ranges.append(pattern[index]...max(pattern[index], pattern[index + 2]))
        index += 3
      } else {
        ranges.append(pattern[index]...pattern[index])
        index += 1
      }
    }
    return (.members(ranges, isNegated: isNegated), pattern[(close + 1)...])
  }
}
