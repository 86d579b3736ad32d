// Credentials of a container's agent: ECS, EKS Pod Identity, and what else speaks like them.
import MirrorHTTP
import MirrorPlatform

extension CredentialFetcher {
  /// Three attempts of 2 s each (botocore).
  func askContainer() async throws(CredentialError) -> Credentials {
    let what = "container credentials"
    let url = try containerURL(what)
    // A path of ECS is all that it takes to get the keys.
    let place = (try? HostAddress.parse(url: url).address.url) ?? "the agent"
    var headers = [HTTPField("Accept", "application/json")]
    // The file is read each time: its token changes.
    if let file = environment.nonEmpty("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
      headers.append(HTTPField("Authorization", try token(in: file, what)))
    } else if let value = environment.nonEmpty("AWS_CONTAINER_AUTHORIZATION_TOKEN") {
      guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw CredentialError("\(what): AWS_CONTAINER_AUTHORIZATION_TOKEN holds a line end")
      }
      headers.append(HTTPField("Authorization", value))
    }
    var failure = CredentialError(what)
    for attempt in 1...3 {
      if attempt > 1 { try? await Task.sleep(for: .milliseconds(300)) }
      do throws(CredentialError) {
        let request = HTTPExchange(
          .get, url: url, headers: headers, timeout: .seconds(2), connectTimeout: .seconds(2), isDirect: true)
        let reply = try await ask(request, "\(what) of \(place)")
        if reply.status == 200 {
          guard let json = JSON(parsing: reply.body), let credentials = Credentials(json, token: "Token") else {
            throw CredentialError("\(what): \(place) answers without credentials")
          }
          return credentials
        }
        failure = CredentialError("\(what): \(place) answers \(reply.status)")
        guard reply.status >= 500 else { break }
      } catch { failure = error }
    }
    throw failure
  }

  private func containerURL(_ what: String) throws(CredentialError) -> String {
    if let path = environment.nonEmpty("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
      guard path.hasPrefix("/") else {
        throw CredentialError("\(what): AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with /")
      }
      return "http://169.254.170.2\(path)"
    }
    guard let url = environment.nonEmpty("AWS_CONTAINER_CREDENTIALS_FULL_URI") else {
      throw CredentialError("\(what): neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor _FULL_URI is set")
    }
    guard let parsed = try? HostAddress.parse(url: url) else {
      throw CredentialError("\(what): AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL")
    }
    let host = parsed.address.host
    guard parsed.address.scheme == "https" || host == "localhost" || Self.isLoopback(host) || Self.agents.contains(host)
    else {
      throw CredentialError(
        "\(what): a token may not be sent to \(host) in the clear; it must be https or this machine")
    }
    return url
  }

  private static let agents = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]

  private static func isLoopback(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return host == "[::1]" || (parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil })
  }
}
