// What each of the services that hand out credentials answers.
import MirrorPlatform
import MirrorStore

struct IdentityAnswering {
  let request: FakeIdentity.Request

  struct Answer {
    var status: Int
    var fields = Fields()
    var body: [UInt8] = []
    init(_ status: Int, _ text: String = "", type: String = "text/plain") {
      self.status = status
      fields["Content-Type"] = type
      body = Array(text.utf8)
    }
    static func json(_ status: Int, _ members: [(String, JSON)]) -> Answer {
      Answer(status, JSON.object(members).text, type: "application/json")
    }
  }

  func answer(_ state: inout FakeIdentity.State) -> Answer {
    if let status = state.settings.fails { return Answer(status) }
    switch (request.method, request.path) {
    case ("PUT", "/latest/api/token"): return metadataToken(state)
    case ("GET", let path) where path.hasPrefix("/latest/meta-data/"): return metadata(path, &state)
    case ("GET", let path) where path.hasPrefix("/container"): return container(&state)
    case ("GET", "/federation/credentials"): return signOn(&state)
    case ("POST", "/token"): return renewal(&state)
    case ("POST", "/"): return role(&state)
    default: return Answer(404)
    }
  }

  private func document(_ state: inout FakeIdentity.State, _ kind: String) -> [(String, JSON)] {
    let (id, new) = state.issue(kind)
    return [
      ("AccessKeyId", .string(id)), ("SecretAccessKey", .string(new.secret)), ("Token", .string(new.token)),
      ("Expiration", .string(Timestamp(seconds: new.ends).rfc3339)),
    ]
  }

  private func metadataToken(_ state: FakeIdentity.State) -> Answer {
    guard state.settings.knowsTokens else { return Answer(404) }
    guard let text = request.fields["x-aws-ec2-metadata-token-ttl-seconds"], let life = Int(text),
      (1...21600).contains(life)
    else { return Answer(400) }
    return Answer(200, "imds-token==")
  }

  private func metadata(_ path: String, _ state: inout FakeIdentity.State) -> Answer {
    if state.settings.knowsTokens, request.fields["x-aws-ec2-metadata-token"] != "imds-token==" { return Answer(401) }
    guard let role = state.settings.role else { return Answer(404) }
    let base = "/latest/meta-data/iam/security-credentials/"
    if path == base { return Answer(200, role) }
    guard path == base + role else { return Answer(404) }
    let head: [(String, JSON)] = [
      ("Code", .string("Success")), ("LastUpdated", .string("2026-11-30T10:00:00Z")), ("Type", .string("AWS-HMAC")),
    ]
    return .json(200, head + document(&state, "IMDS"))
  }

  private func container(_ state: inout FakeIdentity.State) -> Answer {
    if let token = state.settings.containerToken, request.fields["authorization"] != token { return Answer(401) }
    return .json(200, [("RoleArn", .string("arn:aws:iam::1:role/task"))] + document(&state, "TASK"))
  }

  private func signOn(_ state: inout FakeIdentity.State) -> Answer {
    guard request.fields["x-amz-sso_bearer_token"] == state.settings.sessionToken else {
      return .json(
        401,
        [
          ("message", .string("Session token not found or invalid")),
          ("__type", .string("com.amazonaws.switchboard.portal#UnauthorizedException")),
        ])
    }
    guard request.query["role_name"] == "Reader", request.query["account_id"] == "123456789012" else {
      return .json(403, [("message", .string("No access"))])
    }
    let (id, new) = state.issue("SSO")
    return .json(
      200,
      [
        (
          "roleCredentials",
          .object([
            ("accessKeyId", .string(id)), ("secretAccessKey", .string(new.secret)),
            ("sessionToken", .string(new.token)), ("expiration", .int(new.ends * 1000)),
          ])
        )
      ])
  }

  private func renewal(_ state: inout FakeIdentity.State) -> Answer {
    guard let asked = JSON(parsing: request.body), asked["grantType"]?.string == "refresh_token",
      asked["refreshToken"]?.string == state.settings.refreshToken, asked["clientId"]?.string == "client",
      asked["clientSecret"]?.string == "clientsecret"
    else { return .json(400, [("error", .string("invalid_grant"))]) }
    state.settings.sessionToken = "session-2"
    state.settings.refreshToken = "refresh-2"
    return .json(
      200,
      [
        ("accessToken", .string("session-2")), ("expiresIn", .int(state.settings.sessionLife)),
        ("refreshToken", .string("refresh-2")),
        ("tokenType", .string("Bearer")),
      ])
  }

  private func role(_ state: inout FakeIdentity.State) -> Answer {
    let form = request.form
    guard form["Version"] == "2011-06-15", let arn = form["RoleArn"], form["RoleSessionName"] != nil else {
      return refusal(400, "ValidationError", "bad form")
    }
    let action = form["Action"] ?? ""
    if action == "AssumeRole" {
      guard Signature.isRight(request, service: "sts", secret: { state.issued[$0]?.secret }) else {
        return refusal(403, "SignatureDoesNotMatch", "The request signature does not match")
      }
      if !Signature.isTimely(request, now: state.now) {
        return refusal(403, "SignatureDoesNotMatch", "Signature expired")
      }
      if arn.contains("external"), form["ExternalId"] != "shared secret+/" {
        return refusal(403, "AccessDenied", "wrong external id")
      }
    } else if form["WebIdentityToken"] != "web.identity.token" {
      return refusal(400, "ExpiredTokenException", "Token expired: current date/time must be before the expiration")
    }
    if arn.contains("denied") {
      return refusal(403, "AccessDenied", "User is not authorized to perform: sts:AssumeRole on resource: \(arn)")
    }
    let (id, new) = state.issue("ROLE")
    return Answer(
      200,
      """
      <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <\(action)Result>
          <AssumedRoleUser><AssumedRoleId>A:s</AssumedRoleId><Arn>\(arn)</Arn></AssumedRoleUser>
          <Credentials>
            <AccessKeyId>\(id)</AccessKeyId><SecretAccessKey>\(new.secret)</SecretAccessKey>
            <SessionToken>\(new.token)</SessionToken>
            <Expiration>\(Timestamp(seconds: new.ends).rfc3339)</Expiration>
          </Credentials>
        </\(action)Result>
        <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>
      </\(action)Response>
      """, type: "text/xml")
  }

  private func refusal(_ status: Int, _ code: String, _ message: String) -> Answer {
    Answer(
      status,
      """
      <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <Error><Type>Sender</Type><Code>\(code)</Code><Message>\(message)</Message></Error>
        <RequestId>r</RequestId>
      </ErrorResponse>
      """, type: "text/xml")
  }
}
