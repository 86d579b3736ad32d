// Credentials of a role, by STS: AssumeRole with others' keys, AssumeRoleWithWebIdentity with a token (STS API Reference).
import MirrorHTTP
import MirrorPlatform
import MirrorStore

extension CredentialFetcher {
  /// - Throws: the service's own words, or those of the transport.
  func assume(_ role: AssumedRole, by base: Credentials) async throws(CredentialError) -> Credentials {
    var fields = form("AssumeRole", role)
    if let id = role.externalID { fields.append(("ExternalId", id)) }
    return try await askSTS(fields, role, by: base)
  }

  /// The file is read each time: its token changes.
  func assume(_ role: AssumedRole, tokenFile: String) async throws(CredentialError) -> Credentials {
    let token = try token(in: path(tokenFile), "role \(role.arn)")
    let fields = form("AssumeRoleWithWebIdentity", role) + [("WebIdentityToken", token)]
    return try await askSTS(fields, role, by: nil)
  }

  private func form(_ action: String, _ role: AssumedRole) -> [(String, String)] {
    var fields = [("Action", action), ("Version", "2011-06-15"), ("RoleArn", role.arn)]
    fields.append(("RoleSessionName", role.sessionName ?? "s3mirror-\(clock.wall().seconds)"))
    if let duration = role.duration { fields.append(("DurationSeconds", "\(duration)")) }
    return fields
  }

  private func askSTS(
    _ fields: [(String, String)], _ role: AssumedRole, by base: Credentials?
  ) async throws(CredentialError) -> Credentials {
    let what = "role \(role.arn)"
    let body = fields.map { name, value in "\(name)=\(percentEncoded(value.utf8, keepingSlash: false))" }
    let bytes = Array(body.joined(separator: "&").utf8)
    var offset = Duration.zero
    for attempt in 1...3 {
      let now = clock.wall()
      let date = Timestamp(seconds: WallTime(milliseconds: now.milliseconds + offset.milliseconds).seconds)
      let request = try stsRequest(bytes, by: base, date, what)
      let reply = try await ask(request, what)
      if reply.status == 200 {
        guard let credentials = STSAnswer.credentials(reply.body) else {
          throw CredentialError("\(what): STS answers without credentials")
        }
        return credentials
      }
      let document = ErrorDocument.parse(reply.body)
      // A clock that is off spoils the signature; the answer tells the right time.
      let gap = reply.head.text("date").flatMap { Timestamp(httpDate: $0) }.map { WallTime(seconds: $0.seconds) - now }
      if base != nil, offset == .zero, let gap,
        gap >= Correction.noticeableGap || gap <= .zero - Correction.noticeableGap
      {
        offset = gap
        continue
      }
      let code = document?.code ?? ""
      if attempt < 3, reply.status >= 500 || S3ErrorCode.meaning(code) == .throttled || code == "IDPCommunicationError"
      {
        try? await Task.sleep(for: .milliseconds(500))
        continue
      }
      throw CredentialError("\(what): \(Self.words(document, reply.status))")
    }
    throw CredentialError("\(what): STS does not answer")
  }

  private static func words(_ document: ErrorDocument?, _ status: Int) -> String {
    guard let document else { return "STS answers \(status)" }
    switch document.code {
    case "ExpiredTokenException", "ExpiredToken": return "the token has expired (\(document.message))"
    default: return "\(document.code): \(document.message)"
    }
  }

  private func stsRequest(
    _ body: [UInt8], by base: Credentials?, _ date: Timestamp, _ what: String
  ) throws(CredentialError) -> HTTPExchange {
    let url = places.url(.sts, region: places.region)
    var headers = [HTTPField("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")]
    if let base {
      let address: (address: HostAddress, path: String)
      do throws(EndpointError) { address = try HostAddress.parse(url: url) } catch {
        throw CredentialError("\(what): \(error)")
      }
      let signer = SigV4(credentials: base, region: places.region, service: "sts", date: date)
      headers.append(HTTPField("X-Amz-Date", signer.stamp))
      if let token = base.sessionToken { headers.append(HTTPField("X-Amz-Security-Token", token)) }
      let canonical = CanonicalRequest(
        method: "POST", path: address.path + "/", query: CanonicalQuery(),
        headers: headers.map { (name: $0.name, value: $0.value) }
          + [(name: "host", value: address.address.hostHeader)],
        payloadHash: hexadecimal(Digest.value(.sha256, of: body)))
      headers.append(HTTPField("Authorization", signer.authorization(canonical, key: signer.signingKey)))
    }
    return HTTPExchange(.post, url: url + "/", headers: headers, body: body)
  }
}

/// `AssumeRoleResponse` and `AssumeRoleWithWebIdentityResponse`.
private final class STSAnswer: XMLConsumer {
  private var values: [String: String] = [:]
  private var isInside = false

  static func credentials(_ body: [UInt8]) -> Credentials? {
    let answer = STSAnswer()
    let reader = XMLReader(answer)
    guard reader.feed(body), reader.finish(), let id = answer.values["AccessKeyId"],
      let secret = answer.values["SecretAccessKey"], let token = answer.values["SessionToken"],
      let end = answer.values["Expiration"].flatMap({ Timestamp(rfc3339: $0) })
    else { return nil }
    return Credentials(
      accessKeyID: id, secretAccessKey: secret, sessionToken: token, expiration: WallTime(seconds: end.seconds))
  }

  func opened(_ name: String, depth: Int) { if name == "Credentials" { isInside = true } }
  func closed(_ name: String, depth: Int, text: [UInt8]) {
    if name == "Credentials" { isInside = false }
    if isInside { values[name] = String(decoding: text, as: UTF8.self) }
  }
}
