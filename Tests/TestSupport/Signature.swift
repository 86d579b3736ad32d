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

extension Signature {
  /// Whether a request is signed with the secret that goes with its key, for a service, any region.
  static func isRight(
    _ request: FakeIdentity.Request, service: String, secret: (String) -> String?
  ) -> Bool {
    guard let header = request.fields["authorization"], header.hasPrefix("AWS4-HMAC-SHA256 "),
      let stamp = request.fields["x-amz-date"]
    else { return false }
    var parts: [String: String] = [:]
    for part in header.dropFirst(17).split(separator: ",") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { parts[String(pair[0])] = String(pair[1]) }
    }
    let scope = (parts["Credential"] ?? "").split(separator: "/").map(String.init)
    guard scope.count == 5, scope[3] == service, scope[1] == String(stamp.prefix(8)), let secret = secret(scope[0]),
      let names = parts["SignedHeaders"]
    else { return false }
    let lines = names.split(separator: ";").map { "\($0):\(request.fields[String($0)] ?? "")\n" }.joined()
    let hash = hexadecimal(Digest.value(.sha256, of: request.body))
    let canonical = "\(request.method)\n\(request.path)\n\n\(lines)\n\(names)\n\(hash)"
    let digest = hexadecimal(Digest.value(.sha256, of: Array(canonical.utf8)))
    let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope.dropFirst().joined(separator: "/"))\n\(digest)"
    var key = Array("AWS4\(secret)".utf8)
    for part in scope.dropFirst() { key = hmacSHA256(key: key, Array(part.utf8)) }
    return hexadecimal(hmacSHA256(key: key, Array(text.utf8))) == parts["Signature"]
  }

  /// Signed within 15 minutes of `now`.
  static func isTimely(_ request: FakeIdentity.Request, now: Int64) -> Bool {
    let stamp = Array(request.fields["x-amz-date"] ?? "")
    guard stamp.count == 16 else { return false }
    func part(_ from: Int, _ count: Int) -> String { String(stamp[from..<(from + count)]) }
    let text = "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))T\(part(9, 2)):\(part(11, 2)):\(part(13, 2))Z"
    return Timestamp(rfc3339: text).map { abs($0.seconds - now) <= 900 } ?? false
  }
}
