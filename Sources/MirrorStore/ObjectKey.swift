// The name of an object: bytes, never text.

/// An S3 key or a part of one; equality and order are those of the bytes (S3 lists in this order).
public struct ObjectKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  public var bytes: [UInt8]
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public init(_ text: String) { bytes = Array(text.utf8) }

  public static func < (a: ObjectKey, b: ObjectKey) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

  /// The key as text where it is UTF-8, else nil.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// For messages: text, with bytes that are not UTF-8 replaced.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
