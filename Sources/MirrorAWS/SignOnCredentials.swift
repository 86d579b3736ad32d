// Credentials of an SSO session: the token that `aws sso login` left, renewed where it may be, against a role's keys.
import MirrorHTTP
import MirrorPlatform

extension CredentialFetcher {
  /// A token with less left than this is renewed, where its session can be.
  private static let tokenMargin = Duration.seconds(300)

  func signOn(_ source: SingleSignOn) async throws(CredentialError) -> Credentials {
    let token = try await signOnToken(source)
    let query = CanonicalQuery([
      ("role_name", Array(source.roleName.utf8)), ("account_id", Array(source.accountID.utf8)),
    ])
    let url = places.url(.sso, region: source.region) + "/federation/credentials?" + query.text
    let what = "profile \(source.profile)"
    let reply = try await ask(HTTPExchange(.get, url: url, headers: [HTTPField("x-amz-sso_bearer_token", token)]), what)
    switch reply.status {
    case 200: break
    case 401: throw CredentialError("\(what): the SSO session is over; \(Self.renewal(source)) renews it")
    case 403:
      throw CredentialError(
        "\(what): the SSO session may not take role \(source.roleName) in account \(source.accountID)")
    default:
      let message = JSON(parsing: reply.body)?["message"]?.string
      throw CredentialError("\(what): SSO answers \(reply.status)\(message.map { ": \($0)" } ?? "")")
    }
    guard let keys = JSON(parsing: reply.body)?["roleCredentials"], let id = keys["accessKeyId"]?.string,
      let secret = keys["secretAccessKey"]?.string, let session = keys["sessionToken"]?.string
    else { throw CredentialError("\(what): SSO answers without credentials") }
    return Credentials(
      accessKeyID: id, secretAccessKey: secret, sessionToken: session,
      expiration: keys["expiration"]?.int.map { WallTime(milliseconds: $0) })
  }

  private static func renewal(_ source: SingleSignOn) -> String { "aws sso login --profile \(source.profile)" }

  private func signOnToken(_ source: SingleSignOn) async throws(CredentialError) -> String {
    let name = hexadecimal(Digest.value(.sha1, of: Array((source.session ?? source.startURL).utf8)))
    let path = home + "/.aws/sso/cache/\(name).json"
    let missing = "profile \(source.profile) has no SSO session yet; \(Self.renewal(source)) begins one"
    guard let bytes = try? FileSystem.read(path) else { throw CredentialError(missing) }
    guard let cached = JSON(parsing: bytes), let token = cached["accessToken"]?.string else {
      throw CredentialError("\(path) makes no sense; \(Self.renewal(source)) writes it anew")
    }
    let end = cached["expiresAt"]?.string.flatMap { Self.time($0) }
    let left = end.map { $0 - clock.wall() } ?? .zero
    if left > Self.tokenMargin { return token }
    if let renewed = await renewedToken(source, cached, path) { return renewed }
    guard left > .zero else {
      throw CredentialError(
        "profile \(source.profile): the SSO session ended\(end.map { " at \(Timestamp(seconds: $0.seconds).rfc3339)" } ?? ""); \(Self.renewal(source)) renews it"
      )
    }
    return token
  }

  /// Old releases wrote `2026-11-30T11:26:57UTC`.
  private static func time(_ text: String) -> WallTime? {
    let text = text.hasSuffix("UTC") ? text.dropLast(3) + "Z" : text
    return Timestamp(rfc3339: String(text)).map { WallTime(seconds: $0.seconds) }
  }

  /// By the refresh token (SSO OIDC, CreateToken); kept in the cache, for the old one is of no use then.
  private func renewedToken(_ source: SingleSignOn, _ cached: JSON, _ path: String) async -> String? {
    guard source.session != nil, let refresh = cached["refreshToken"]?.string, let client = cached["clientId"]?.string,
      let secret = cached["clientSecret"]?.string,
      let end = cached["registrationExpiresAt"]?.string.flatMap({ Self.time($0) }), end > clock.wall()
    else { return nil }
    let body = JSON.object([
      ("clientId", .string(client)), ("clientSecret", .string(secret)), ("grantType", .string("refresh_token")),
      ("refreshToken", .string(refresh)),
    ])
    let request = HTTPExchange(
      .post, url: places.url(.tokens, region: source.region) + "/token",
      headers: [HTTPField("Content-Type", "application/json")], body: Array(body.text.utf8))
    guard let reply = try? await ask(request, "SSO token"), reply.status == 200, let answer = JSON(parsing: reply.body),
      let token = answer["accessToken"]?.string, let life = answer["expiresIn"]?.int, case .object(var members) = cached
    else { return nil }
    let expires = Timestamp(seconds: clock.wall().seconds + min(max(0, life), 1 << 32)).rfc3339
    var changes = [("accessToken", token), ("expiresAt", expires)]
    if let next = answer["refreshToken"]?.string { changes.append(("refreshToken", next)) }
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      members.append((name, .string(value)))
    }
    do throws(Errno) { try FileSystem.write(Array(JSON.object(members).text.utf8), to: path, mode: 0o600) } catch {
      log.limited(.warning, key: "sso cache", "the renewed SSO token can't be kept in \(path): \(error)")
    }
    return token
  }
}
