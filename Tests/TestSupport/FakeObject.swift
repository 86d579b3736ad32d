// What the scripted server holds under a key.
import MirrorPlatform
import MirrorStore

/// Bytes held as they are, or made up from a seed so that a huge object costs nothing.
public enum FakeBody: Sendable {
  case bytes([UInt8])
  case generated(size: Int64, pattern: Pattern)

  /// A repeating run of bytes, of prime length so that no two aligned blocks are alike for a long while.
  public struct Pattern: Sendable {
    public static let length = 1_048_573
    let bytes: [UInt8]
    public let seed: UInt64

    public init(seed: UInt64) {
      self.seed = seed
      bytes = [UInt8](unsafeUninitializedCapacity: Self.length) { buffer, count in
        var state = seed &+ 0x9E37_79B9_7F4A_7C15
        for index in 0..<Self.length {
          state ^= state << 13
          state ^= state >> 7
          state ^= state << 17
          buffer[index] = UInt8(truncatingIfNeeded: state >> 32)
        }
        count = Self.length
      }
    }

    public subscript(offset: Int64) -> UInt8 { bytes[Int(offset % Int64(Self.length))] }
  }

  public var size: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .generated(let size, _): size
    }
  }

  /// The bytes `[start, end)`.
  public func slice(_ start: Int64, _ end: Int64) -> [UInt8] {
    switch self {
    case .bytes(let bytes): return Array(bytes[Int(start)..<Int(end)])
    case .generated(_, let pattern):
      var part: [UInt8] = []
      part.reserveCapacity(Int(end - start))
      var offset = start
      while offset < end {
        let from = Int(offset % Int64(Pattern.length))
        let count = min(Pattern.length - from, Int(end - offset))
        part += pattern.bytes[from..<(from + count)]
        offset += Int64(count)
      }
      return part
    }
  }
}

/// One object of the scripted server.
public struct FakeObject: Sendable {
  public var body: FakeBody
  /// With its quotes; nil sends none.
  public var etag: String?
  /// Seconds since 1970; nil sends none.
  public var modified: Int64?
  /// Sent with GET and HEAD; `x-amz-checksum-*` only where S3 sends it: whole object, checksum mode asked for.
  public var fields: Fields
  public var storageClass: String?

  public enum Tag: Sendable {
    /// The MD5 of the bytes; of a generated body a value in the form of a multipart upload's.
    case digest
    case none
    /// With its quotes.
    case value(String)
  }

  public init(
    _ body: FakeBody, etag: Tag = .digest, modified: Int64?, fields: Fields = Fields(), storageClass: String? = nil
  ) {
    self.body = body
    self.modified = modified
    self.fields = fields
    self.storageClass = storageClass
    switch etag {
    case .none: self.etag = nil
    case .value(let tag): self.etag = tag
    case .digest:
      switch body {
      case .bytes(let bytes): self.etag = "\"\(hexadecimal(Digest.value(.md5, of: bytes)))\""
      case .generated(let size, let pattern):
        let digest = Digest.value(.md5, of: Array("\(size) \(pattern.seed)".utf8))
        self.etag = "\"\(hexadecimal(digest))-8\""
      }
    }
  }
}
