// Proof that bytes are those that were stored: a digest that runs beside a body, and what the answer says it must be.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// A digest running beside a body.
///
/// `@unchecked Sendable`: whoever has it has it alone, the reader of one body and then that of its rest.
final class BodyChecksum: @unchecked Sendable {
  /// How sure it is that the value expected is one of these bytes.
  enum Standing: Hashable {
    /// The answer says so: a 200, of type FULL_OBJECT.
    case promised
    /// The ETag has the form of an MD5.
    case etag
    /// A field of a part, or of an answer without a type: servers have sent whole objects' values with parts of them,
    /// and composite ones in plain form.
    case claimed
  }

  let standing: Standing
  /// `crc64nvme`, `crc32c`, `crc32`, `sha256`, `sha1`, `md5`.
  let algorithm: String
  let expected: [UInt8]
  private let sum: any RunningSum

  /// Nil where nothing can be verified. `isPart` where the answer is of a range.
  init?(_ object: ObjectHead, _ answer: HTTPHead, isPart: Bool) {
    let field = Self.field(answer)
    let isComposite = answer.text("x-amz-checksum-type") == "COMPOSITE"
    if let field, !isPart, answer.text("x-amz-checksum-type") == "FULL_OBJECT" {
      (standing, algorithm, expected) = (.promised, field.algorithm, field.value)
    } else if object.isWhole, object.metadata.etagIsMD5, let value = object.revision.etag?.md5 {
      (standing, algorithm, expected) = (.etag, "md5", value)
    } else if let field, isPart || !isComposite {
      (standing, algorithm, expected) = (.claimed, field.algorithm, field.value)
    } else {
      return nil
    }
    guard let sum = Self.sum(algorithm) else { return nil }
    self.sum = sum
  }

  func update(_ bytes: RawSpan) { sum.update(bytes) }

  /// The digest of all bytes, and whether it is the one expected; once.
  func finish() -> (value: [UInt8], agrees: Bool) {
    let value = sum.finish()
    return (value, value == expected)
  }

  /// What tells this claim from others.
  var claim: String { "\(algorithm) \(base64(expected))" }

  /// The fast ones first: digests are computed on the transfer thread. A value with `-` is one of parts' values.
  private static func field(_ answer: HTTPHead) -> (algorithm: String, value: [UInt8])? {
    for (algorithm, count) in [("crc64nvme", 8), ("crc32c", 4), ("crc32", 4), ("sha256", 32), ("sha1", 20)] {
      guard let text = answer.text("x-amz-checksum-\(algorithm)"), let value = bytes(base64: text),
        value.count == count
      else { continue }
      return (algorithm, value)
    }
    return nil
  }

  private static func sum(_ algorithm: String) -> (any RunningSum)? {
    if let kind = RedundancyCheck.Algorithm(rawValue: algorithm) { return RedundancySum(kind) }
    if let kind = Digest.Algorithm(rawValue: algorithm.uppercased()) { return DigestSum(kind) }
    return nil
  }
}

private protocol RunningSum: AnyObject {
  func update(_ bytes: RawSpan)
  func finish() -> [UInt8]
}

private final class DigestSum: RunningSum {
  private let digest: Digest
  init(_ algorithm: Digest.Algorithm) { digest = Digest(algorithm) }
  func update(_ bytes: RawSpan) { digest.update(bytes) }
  func finish() -> [UInt8] { digest.finish() }
}

private final class RedundancySum: RunningSum {
  private var check: RedundancyCheck
  init(_ algorithm: RedundancyCheck.Algorithm) { check = RedundancyCheck(algorithm) }
  func update(_ bytes: RawSpan) { check.update(bytes) }
  func finish() -> [UInt8] { RedundancyCheck.bytes(check.value, check.algorithm) }
}
