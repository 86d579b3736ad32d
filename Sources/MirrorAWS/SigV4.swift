// AWS Signature Version 4 as S3 wants it: a pure value, each stage open to a test.
public import MirrorPlatform

/// Signs requests of one identity, region, service and second (S3 API Reference, Signature Calculations).
public struct SigV4: Sendable {
  /// x-amz-content-sha256 of every request without a body.
  public static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  public let credentials: Credentials
  public let region: String
  public let service: String
  /// `20130524T000000Z`
  public let stamp: String
  /// `20130524/us-east-1/s3/aws4_request`
  public let scope: String

  public init(credentials: Credentials, region: String, service: String = "s3", date: Timestamp) {
    self.credentials = credentials
    self.region = region
    self.service = service
    stamp = date.basic
    scope = "\(stamp.prefix(8))/\(region)/\(service)/aws4_request"
  }

  /// The second stage.
  public func stringToSign(_ request: CanonicalRequest) -> String {
    let hash = hexadecimal(Digest.value(.sha256, of: Array(request.text.utf8)))
    return "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(hash)"
  }

  /// The key of this day, region and service.
  public var signingKey: [UInt8] {
    var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
    for part in [String(stamp.prefix(8)), region, service, "aws4_request"] {
      key = hmacSHA256(key: key, Array(part.utf8))
    }
    return key
  }

  public func signature(of stringToSign: String, key: [UInt8]) -> String {
    hexadecimal(hmacSHA256(key: key, Array(stringToSign.utf8)))
  }

  /// The value of the Authorization header.
  public func authorization(_ request: CanonicalRequest, key: [UInt8]) -> String {
    let signature = signature(of: stringToSign(request), key: key)
    return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope), "
      + "SignedHeaders=\(request.signedHeaders), Signature=\(signature)"
  }
}
