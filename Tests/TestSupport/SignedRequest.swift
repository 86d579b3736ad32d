// Whether a request that arrived is signed, by whom, and rightly.
import MirrorPlatform
import MirrorStore

extension Signature {
  /// Whether a request without a body is signed for a service with this secret, as it was sent.
  static func isRight(_ request: RecordedRequest, service: String, secret: String) -> Bool {
    guard let header = request.fields["authorization"], header.hasPrefix("AWS4-HMAC-SHA256 ") else { return false }
    var parts: [String: String] = [:]
    for part in header.dropFirst(17).split(separator: ",") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { parts[String(pair[0])] = String(pair[1]) }
    }
    let scope = (parts["Credential"] ?? "").split(separator: "/").map(String.init)
    guard scope.count == 5, scope[3] == service, let names = parts["SignedHeaders"] else { return false }
    let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let lines = names.split(separator: ";").map { "\($0):\(request.fields[String($0)] ?? "")\n" }.joined()
    let hash = request.fields["x-amz-content-sha256"] ?? ""
    let canonical =
      "\(request.method)\n\(target[0])\n\(target.count > 1 ? String(target[1]) : "")\n\(lines)\n\(names)\n\(hash)"
    let digest = hexadecimal(Digest.value(.sha256, of: Array(canonical.utf8)))
    let stamp = request.fields["x-amz-date"] ?? ""
    let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope.dropFirst().joined(separator: "/"))\n\(digest)"
    var key = Array("AWS4\(secret)".utf8)
    for part in scope.dropFirst() { key = hmacSHA256(key: key, Array(part.utf8)) }
    return hexadecimal(hmacSHA256(key: key, Array(text.utf8))) == parts["Signature"]
  }
}

extension RecordedRequest {
  /// The access key that signed it.
  public var accessKey: String {
    let header = fields["authorization"] ?? ""
    return String(header.dropFirst("AWS4-HMAC-SHA256 Credential=".count).prefix { $0 != "/" })
  }
  /// Whether it is signed for S3 with this secret.
  public func isSigned(with secret: String) -> Bool { Signature.isRight(self, service: "s3", secret: secret) }
}
