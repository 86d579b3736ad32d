// Header fields of an object's answer as its metadata.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

extension ObjectMetadata {
  /// `size` is that of the whole object; `isPart` when the fields may describe a range.
  init(_ head: HTTPHead, size: Int64, isPart: Bool) {
    let tag = head.bytes("etag").flatMap { EntityTag(usable: $0) }
    let modified = head.text("last-modified").flatMap { Timestamp(httpDate: $0)?.seconds }
    self.init(
      revision: ObjectRevision(
        etag: tag, size: size, modified: modified,
        // "null" names whatever was written while the bucket kept no versions: such a one may be overwritten.
        version: head.text("x-amz-version-id").flatMap { $0 == "null" || $0.isEmpty ? nil : $0 }),
      storageClass: head.text("x-amz-storage-class"), contentType: head.text("content-type"),
      caching: CachingFields(head), checksums: isPart ? [:] : Self.checksums(head),
      etagIsMD5: tag?.md5 != nil && Self.mayBeMD5(head))
    let fields = head.all(prefix: "x-amz-meta-") + head.all(prefix: "x-goog-meta-")
    if !fields.isEmpty { posix = PosixMetadata(fields: fields.map { (name: $0.name, value: $0.value) }) }
  }

  /// Those of the whole object: composite ones end in the number of parts.
  private static func checksums(_ head: HTTPHead) -> [String: String] {
    let type = head.text("x-amz-checksum-type")
    guard type == nil || type == "FULL_OBJECT" else { return [:] }
    var sums: [String: String] = [:]
    for (name, value) in head.all(prefix: "x-amz-checksum-") where name != "type" && !value.contains("-") {
      sums[name] = value
    }
    return sums
  }

  /// Encryption with a key that is not S3's own makes the ETag something else.
  private static func mayBeMD5(_ head: HTTPHead) -> Bool {
    let encryption = head.text("x-amz-server-side-encryption")
    return (encryption == nil || encryption == "AES256")
      && head.bytes("x-amz-server-side-encryption-customer-algorithm") == nil
  }
}

extension HTTPHead {
  /// Some field is of those that only S3 has.
  var isFromS3: Bool { !all(prefix: "x-amz-").isEmpty }
}

extension CachingFields {
  init(_ head: HTTPHead) {
    // A list may be spread over several lines (RFC 9110 §5.3).
    let control = head.all(prefix: "cache-control").filter { $0.name.isEmpty }.map(\.value)
    self.init(
      cacheControl: control.isEmpty ? nil : control.joined(separator: ","), expires: head.text("expires"),
      age: head.text("age"), date: head.text("date"))
  }
}

extension EntityTag {
  /// Nil for an empty tag, and for one that could not be sent back in a header.
  init?(usable bytes: [UInt8]) {
    guard !bytes.allSatisfy({ $0 == 0x22 }), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    self.init(bytes)
  }

  /// For If-Match and If-None-Match.
  var field: String { String(decoding: bytes, as: UTF8.self) }
}

/// `bytes 0-9/100` (RFC 9110 §14.4); nil unless all three numbers are there and make sense.
struct ContentRange: Hashable {
  let start: Int64
  let end: Int64
  let size: Int64

  init?(_ text: String) {
    let numbers = text.dropFirst(6).split(whereSeparator: { $0 == "-" || $0 == "/" }).compactMap { Int64($0) }
    guard text.lowercased().hasPrefix("bytes "), numbers.count == 3, numbers[0] >= 0, numbers[0] <= numbers[1],
      numbers[1] < numbers[2], numbers[2] <= HTTPHead.longestBody
    else { return nil }
    (start, end, size) = (numbers[0], numbers[1] + 1, numbers[2])
  }
}
