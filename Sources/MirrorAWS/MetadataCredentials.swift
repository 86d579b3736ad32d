// Credentials of an EC2 instance's role, by its metadata service (IMDSv2, with the older form where there is no other).
import MirrorHTTP
import MirrorPlatform

extension CredentialFetcher {
  private static let roles = "/latest/meta-data/iam/security-credentials/"

  /// Fails within 3 s where there is no such service.
  func askMetadata() async throws(CredentialError) -> Credentials {
    guard !environment.isTrue("AWS_EC2_METADATA_DISABLED") else {
      throw CredentialError("instance metadata is disabled (AWS_EC2_METADATA_DISABLED)")
    }
    let base = try metadataBase()
    var token = try await metadataToken(base)
    var reply = try await metadata(base, Self.roles, token)
    if reply.status == 401 {
      token = try await metadataToken(base)
      reply = try await metadata(base, Self.roles, token)
    }
    let role = String(decoding: reply.body.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    guard reply.status == 200, !role.isEmpty else {
      throw CredentialError(
        reply.status == 404 || reply.status == 200
          ? "no credentials: this instance has no role" : "instance metadata: \(base) answers \(reply.status)")
    }
    let answer = try await metadata(base, Self.roles + percentEncoded(role.utf8, keepingSlash: false), token)
    guard answer.status == 200, let json = JSON(parsing: answer.body),
      let credentials = Credentials(json, token: "Token")
    else { throw CredentialError("instance metadata: no credentials of role \(role) (\(answer.status))") }
    return credentials
  }

  private func metadataBase() throws(CredentialError) -> String {
    var base = environment.nonEmpty("AWS_EC2_METADATA_SERVICE_ENDPOINT")
    if base == nil, environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6" {
      base = "http://[fd00:ec2::254]"
    }
    guard let base else { return "http://169.254.169.254" }
    do throws(EndpointError) {
      let parsed = try HostAddress.parse(url: base)
      return parsed.address.url + parsed.path
    } catch { throw CredentialError("AWS_EC2_METADATA_SERVICE_ENDPOINT: \(error)") }
  }

  private var metadataTimeout: Duration {
    let seconds = environment.nonEmpty("AWS_METADATA_SERVICE_TIMEOUT").flatMap { Double($0) } ?? 1
    return .milliseconds(Int64(min(60, max(0.1, seconds)) * 1000))
  }

  /// Nil: the service knows no tokens, or its answer does not come this far (a hop limit of 1, in a container).
  private func metadataToken(_ base: String) async throws(CredentialError) -> String? {
    let request = HTTPExchange(
      .put, url: base + "/latest/api/token", headers: [HTTPField("x-aws-ec2-metadata-token-ttl-seconds", "21600")],
      timeout: metadataTimeout, connectTimeout: metadataTimeout, isDirect: true)
    let mayDoWithout = !environment.isTrue("AWS_EC2_METADATA_V1_DISABLED")
    let reply: HTTPReply
    do throws(HTTPError) { reply = try await exchanger.exchange(request) } catch {
      if error.kind == .timeout, mayDoWithout { return nil }
      throw CredentialError("no credentials are set up, and this is no EC2 instance (\(base): \(error.message))")
    }
    if [403, 404, 405].contains(reply.status), mayDoWithout { return nil }
    guard reply.status == 200 else {
      throw CredentialError("instance metadata: \(base) gives no token (\(reply.status))")
    }
    let token = String(decoding: reply.body, as: UTF8.self)
    guard !token.isEmpty, !token.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else {
      throw CredentialError("instance metadata: \(base) gives a token that is none")
    }
    return token
  }

  private func metadata(_ base: String, _ path: String, _ token: String?) async throws(CredentialError) -> HTTPReply {
    let attempts = environment.nonEmpty("AWS_METADATA_SERVICE_NUM_ATTEMPTS").flatMap { Int($0) } ?? 1
    var failure = CredentialError("instance metadata")
    for _ in 0..<max(1, min(attempts, 10)) {
      do throws(CredentialError) {
        let headers = token.map { [HTTPField("x-aws-ec2-metadata-token", $0)] } ?? []
        return try await ask(
          HTTPExchange(
            .get, url: base + path, headers: headers, timeout: metadataTimeout, connectTimeout: metadataTimeout,
            isDirect: true), "instance metadata of \(base)")
      } catch { failure = error }
    }
    throw token == nil
      ? CredentialError("no credentials are set up, and this is no EC2 instance (\(failure))") : failure
  }
}

extension AWSProfile {
  /// What a profile says of the metadata service, under the names of the environment, which goes before it.
  var metadataSettings: [String: String] {
    let names = [
      "ec2_metadata_service_endpoint": "AWS_EC2_METADATA_SERVICE_ENDPOINT",
      "ec2_metadata_service_endpoint_mode": "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
      "ec2_metadata_v1_disabled": "AWS_EC2_METADATA_V1_DISABLED",
      "metadata_service_timeout": "AWS_METADATA_SERVICE_TIMEOUT",
      "metadata_service_num_attempts": "AWS_METADATA_SERVICE_NUM_ATTEMPTS",
    ]
    var settings: [String: String] = [:]
    for (key, name) in names { settings[name] = self[key] }
    return settings
  }
}
