// Signature Version 4 of requests that set a real server up; the program itself has its own, which this must not share.
import MirrorPlatform

/// Signs for the service `s3`.
struct Signature {
  let accessKey: String
  let secretKey: String
  let region = "us-east-1"

  /// The fields to send: those given, with date, payload hash and authorization. `path` is percent-encoded.
  func sign(method: String, host: String, path: String, query: String, fields: Fields, body: [UInt8]) -> Fields {
    let stamp = Timestamp(seconds: SystemClock().wall().seconds).basic
    let day = String(stamp.prefix(8))
    let hash = hexadecimal(Digest.value(.sha256, of: body))
    var fields = fields
    fields["host"] = host
    fields["x-amz-date"] = stamp
    fields["x-amz-content-sha256"] = hash
    let signed = fields.all.map { (name: $0.name.lowercased(), value: $0.value) }.sorted { $0.name < $1.name }
    let names = signed.map(\.name).joined(separator: ";")
    let canonical = [
      method, path, query, signed.map { "\($0.name):\($0.value)\n" }.joined(), names, hash,
    ].joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let digest = hexadecimal(Digest.value(.sha256, of: Array(canonical.utf8)))
    let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(digest)"
    var key = Array("AWS4\(secretKey)".utf8)
    for part in [day, region, "s3", "aws4_request"] { key = hmacSHA256(key: key, Array(part.utf8)) }
    let value = hexadecimal(hmacSHA256(key: key, Array(text.utf8)))
    fields["Authorization"] =
      "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(value)"
    return fields
  }
}
