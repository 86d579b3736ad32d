// The validator of a revision (RFC 9110 §8.8.3), kept exactly as the server spelled it.
import MirrorPlatform

/// An ETag with its quotes; the common `"<32 lower-case hex>"` takes no heap.
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64
  private let spelled: [UInt8]?

  public init(_ bytes: [UInt8]) {
    if bytes.count == 34, bytes.first == 0x22, bytes.last == 0x22,
      !bytes.contains(where: { (0x41...0x46).contains($0) }),
      let digest = MirrorPlatform.bytes(hexadecimal: bytes[1..<33])
    {
      self.init(md5: digest)
    } else {
      self.init(high: 0, low: 0, spelled: bytes)
    }
  }

  public init(_ text: String) { self.init(Array(text.utf8)) }

  private init(high: UInt64, low: UInt64, spelled: [UInt8]?) {
    self.high = high
    self.low = low
    self.spelled = spelled
  }

  /// The tag that spells these sixteen bytes: what `md5` answers, back again.
  public init(md5 digest: [UInt8]) {
    precondition(digest.count == 16)
    self.init(
      high: digest[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: digest[8...].reduce(0) { $0 << 8 | UInt64($1) },
      spelled: nil)
  }

  /// As received, quotes included.
  public var bytes: [UInt8] { spelled ?? [0x22] + Array(hexadecimal(digest).utf8) + [0x22] }

  private var digest: [UInt8] {
    [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
  }

  /// The sixteen bytes of a tag that has the form of an MD5; whether it *is* one, the object's encryption decides.
  public var md5: [UInt8]? { spelled == nil ? digest : nil }

  /// Weak tags say nothing about bytes (RFC 9110 §8.8.1).
  public var isWeak: Bool { spelled?.starts(with: [0x57, 0x2F]) ?? false }

  /// Without the quotes, for people.
  public var description: String { String(decoding: bytes.filter { $0 != 0x22 }, as: UTF8.self) }
}
