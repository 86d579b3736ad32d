// A directory bucket's sessions, as S3 Express hands them out and asks for them.
import MirrorPlatform
import MirrorStore

/// Sessions say themselves when they end, so that none has to be kept.
struct FakeSessions {
  let now: Int64
  let life: Int64
  private static let secret = "session-secret"

  /// The answer to CreateSession, which is signed by the identity itself.
  func create(_ request: RecordedRequest) -> FakeAnswer? {
    guard request.fields["x-amz-create-session-mode"] == "ReadOnly", request.fields["x-amz-s3session-token"] == nil,
      Signature.isRight(request, service: "s3express", secret: RealServer.secretKey)
    else { return nil }
    let end = Timestamp(seconds: now + life).rfc3339
    let body = """
      <?xml version="1.0" encoding="UTF-8"?>
      <CreateSessionResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Credentials>\
      <SessionToken>token/\(now + life)+=</SessionToken><SecretAccessKey>\(Self.secret)</SecretAccessKey>\
      <AccessKeyId>SESSION\(now + life)</AccessKeyId><Expiration>\(end)</Expiration></Credentials></CreateSessionResult>
      """
    return FakeAnswer(200, fields: Fields([("Content-Type", "application/xml")]), Array(body.utf8))
  }

  enum Verdict { case good, expired, denied }

  /// Whether a request is one of a session that has not ended.
  func judge(_ request: RecordedRequest) -> Verdict {
    guard request.fields["x-amz-security-token"] == nil, let token = request.fields["x-amz-s3session-token"],
      token.hasPrefix("token/"), let end = Int64(token.dropFirst(6).prefix { $0.isNumber }),
      request.fields["authorization"]?.contains("Credential=SESSION\(end)/") == true,
      Signature.isRight(request, service: "s3express", secret: Self.secret)
    else { return .denied }
    return end > now ? .good : .expired
  }

  /// Whether the listing is one that directory buckets know.
  static func canList(_ request: RecordedRequest) -> Bool {
    let prefix = request.query.bytes("prefix") ?? []
    return (prefix.isEmpty || prefix.last == 0x2F) && request.query.bytes("start-after") == nil
      && ["", "/"].contains(request.query["delimiter"] ?? "")
  }
}

extension FakeS3.Settings {
  var isInOrder: Bool { listsInOrder && sessionLife == nil }
}
