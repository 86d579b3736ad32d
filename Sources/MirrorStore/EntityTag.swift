// The validator of a revision (RFC 9110 §8.8.3), kept exactly as the server spelled it.
import MirrorPlatform

/// An ETag with its quotes; the common forms take no heap, since a mount may know millions.
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
  /// Each spelling has one form, so that equal tags are equal values.
  private enum Form: Hashable, Sendable {
    /// `"<32 lower-case hex>"`
    case digest(UInt64, UInt64)
    /// `"<32 lower-case hex>-<parts>"`
    case parts(UInt64, UInt64, UInt32)
    /// Anything else of at most 16 bytes.
    case short(UInt64, UInt64, UInt8)
    case long([UInt8])
  }
  private let form: Form

  public init(_ bytes: [UInt8]) {
    if let form = Self.hexadecimalForm(bytes) {
      self.form = form
    } else if bytes.count <= 16 {
      let (high, low) = Self.words(bytes + [UInt8](repeating: 0, count: 16 - bytes.count))
      form = .short(high, low, UInt8(bytes.count))
    } else {
      form = .long(bytes)
    }
  }

  public init(_ text: String) { self.init(Array(text.utf8)) }

  /// The tag that spells these sixteen bytes: what `md5` answers, back again.
  public init(md5 digest: [UInt8]) {
    precondition(digest.count == 16)
    let (high, low) = Self.words(digest)
    form = .digest(high, low)
  }

  private static func hexadecimalForm(_ bytes: [UInt8]) -> Form? {
    guard bytes.count >= 34, bytes.count <= 45, bytes.first == 0x22, bytes.last == 0x22,
      let high = word(hexadecimal: bytes, at: 1), let low = word(hexadecimal: bytes, at: 17)
    else { return nil }
    if bytes.count == 34 { return .digest(high, low) }
    let count = bytes[34..<(bytes.count - 1)]
    guard bytes[33] == 0x2D, let first = count.first, (0x31...0x39).contains(first),
      count.allSatisfy({ (0x30...0x39).contains($0) }), let parts = UInt32(String(decoding: count, as: UTF8.self))
    else { return nil }
    return .parts(high, low, parts)
  }

  /// Sixteen lower-case hexadecimal digits. A listing has a thousand of them a page: read in place.
  private static func word(hexadecimal bytes: [UInt8], at start: Int) -> UInt64? {
    var word: UInt64 = 0
    for byte in bytes[start..<(start + 16)] {
      switch byte {
      case 0x30...0x39: word = word << 4 | UInt64(byte - 0x30)
      case 0x61...0x66: word = word << 4 | UInt64(byte - 0x57)
      default: return nil
      }
    }
    return word
  }

  private static func words(_ bytes: [UInt8]) -> (UInt64, UInt64) {
    (bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }, bytes[8...].reduce(0) { $0 << 8 | UInt64($1) })
  }

  private static func bytes(_ high: UInt64, _ low: UInt64) -> [UInt8] {
    [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
  }

  /// As received, quotes included.
  public var bytes: [UInt8] {
    switch form {
    case .digest(let high, let low): Array("\"\(hexadecimal(Self.bytes(high, low)))\"".utf8)
    case .parts(let high, let low, let count): Array("\"\(hexadecimal(Self.bytes(high, low)))-\(count)\"".utf8)
    case .short(let high, let low, let count): Array(Self.bytes(high, low)[..<Int(count)])
    case .long(let bytes): bytes
    }
  }

  /// A stable 64-bit hash of the tag, the same in every process and release.
  public var fingerprint: UInt64 {
    switch form {
    case .digest(let high, let low): Self.mixed(high, low, 0)
    case .parts(let high, let low, let count): Self.mixed(high, low, UInt64(count) + 1)
    case .short(let high, let low, let count): Self.mixed(high, low, ~UInt64(count))
    case .long(let bytes): stableHash(bytes)
    }
  }

  /// A listing asks for it a thousand times a page: without an array of bytes.
  private static func mixed(_ high: UInt64, _ low: UInt64, _ rest: UInt64) -> UInt64 {
    var value = (high ^ rest) &* 0x9e37_79b9_7f4a_7c15
    value = (value ^ value >> 32 ^ low) &* 0xd6e8_feb8_6659_fd93
    return value ^ value >> 32
  }

  /// The sixteen bytes of a tag that has the form of an MD5; whether it *is* one, the object's encryption decides.
  public var md5: [UInt8]? {
    if case .digest(let high, let low) = form { Self.bytes(high, low) } else { nil }
  }

  /// Weak tags say nothing about bytes (RFC 9110 §8.8.1).
  public var isWeak: Bool {
    switch form {
    case .digest, .parts: false
    case .short, .long: bytes.starts(with: [0x57, 0x2F])
    }
  }

  /// Without the quotes, for people.
  public var description: String { String(decoding: bytes.filter { $0 != 0x22 }, as: UTF8.self) }
}
