// The directives of a Cache-Control field, as they are written (RFC 9111 §5.2).

/// Directives in their order: names in lower case, arguments without their quotes.
struct CacheControl {
  struct Directive: Equatable {
    let name: String
    let argument: String?
  }

  private(set) var directives: [Directive] = []

  init(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let name = Self.text(rest.prefix { $0 != 0x2C && $0 != 0x3D }).lowercased()
      rest = rest.drop { $0 != 0x2C && $0 != 0x3D }
      var argument: String?
      if rest.first == 0x3D {
        rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
        argument = Self.takeArgument(&rest)
      }
      rest = rest.drop { $0 != 0x2C }.dropFirst()
      if !name.isEmpty { directives.append(Directive(name: name, argument: argument)) }
    }
  }

  func has(_ name: String) -> Bool { directives.contains { $0.name == name } }

  /// §4.2.1: of several the first counts; what is no number of seconds is 0, which is to say stale. Nil: not there.
  func seconds(_ name: String) -> Int32? {
    guard let directive = directives.first(where: { $0.name == name }) else { return nil }
    return directive.argument.flatMap { deltaSeconds($0) } ?? 0
  }

  /// §5.2: a recipient ought to take both the token and the quoted form.
  private static func takeArgument(_ rest: inout ArraySlice<UInt8>) -> String {
    guard rest.first == 0x22 else {
      let token = rest.prefix { $0 != 0x2C }
      rest = rest.dropFirst(token.count)
      return text(token)
    }
    rest = rest.dropFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst(), byte != 0x22 {
      if byte == 0x5C, let escaped = rest.popFirst() { bytes.append(escaped) } else { bytes.append(byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let trimmed = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    return String(decoding: Array(trimmed), as: UTF8.self)
  }
}

/// §1.2.2: digits only; what is more than can be told apart is a very long time. Nil for anything else.
func deltaSeconds(_ text: some StringProtocol) -> Int32? {
  guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int32(text) ?? .max
}
