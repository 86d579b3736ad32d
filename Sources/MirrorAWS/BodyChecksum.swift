// Proof that a whole object's bytes are those that were stored: the strongest digest the answer names.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// A digest running beside a body; not for sharing between threads.
final class BodyChecksum {
  enum Source: Hashable { case sha256, sha1, etag }

  let source: Source
  private let expected: [UInt8]
  private let digest: Digest

  /// Nil where nothing can be verified. Checksums count with status 200 and type FULL_OBJECT only: servers have sent
  /// composite values with ranges that cover an object.
  init?(_ metadata: ObjectMetadata, head: HTTPHead) {
    let isFull = head.status == 200 && head.text("x-amz-checksum-type") == "FULL_OBJECT"
    func value(_ name: String, _ count: Int) -> [UInt8]? {
      guard isFull, let bytes = metadata.checksums[name].flatMap({ bytes(base64: $0) }), bytes.count == count else {
        return nil
      }
      return bytes
    }
    if let sum = value("sha256", 32) {
      (source, expected) = (.sha256, sum)
      digest = Digest(.sha256)
    } else if let sum = value("sha1", 20) {
      (source, expected) = (.sha1, sum)
      digest = Digest(.sha1)
    } else if metadata.etagIsMD5, let sum = metadata.revision.etag?.md5 {
      (source, expected) = (.etag, sum)
      digest = Digest(.md5)
    } else {
      return nil
    }
  }

  func update(_ bytes: RawSpan) { digest.update(bytes) }

  /// The digest of all bytes, and whether it is the one expected; once.
  func finish() -> (value: [UInt8], agrees: Bool) {
    let value = digest.finish()
    return (value, value == expected)
  }
}
