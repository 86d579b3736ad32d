// Carries a recipe out: one fetch, without memory.
import MirrorHTTP
import MirrorPlatform

struct CredentialFetcher: Sendable {
  let environment: [String: String]
  let places: ServicePlaces
  let exchanger: any HTTPExchanger
  let clock: any Clock
  let log: Log

  func fetch(_ recipe: CredentialRecipe) async throws(CredentialError) -> Credentials {
    switch recipe {
    case .keys(let credentials, _): return credentials
    case .role(let role, let base): return try await assume(role, by: try await fetch(base))
    case .webIdentity(let role, let file): return try await assume(role, tokenFile: file)
    case .singleSignOn(let source): return try await signOn(source)
    case .login(let profile, let session): return try login(profile, session)
    case .process(let profile, let command): return try await run(command, of: profile)
    case .container: return try await askContainer()
    case .metadata: return try await askMetadata()
    }
  }

  /// One exchange, a failure told in the words of whoever asked.
  func ask(_ request: HTTPExchange, _ what: String) async throws(CredentialError) -> HTTPReply {
    do throws(HTTPError) { return try await exchanger.exchange(request) } catch {
      throw CredentialError("\(what): \(error.message)")
    }
  }

  /// `~/` and `$HOME` as the SDKs have them.
  func path(_ text: String) -> String {
    text.hasPrefix("~/") ? (environment.nonEmpty("HOME") ?? "") + text.dropFirst() : text
  }

  var home: String { environment.nonEmpty("HOME") ?? ThisProcess.home ?? "" }

  /// A token as a file holds it, without the line end.
  func token(in path: String, _ what: String) throws(CredentialError) -> String {
    let bytes: [UInt8]
    do throws(Errno) { bytes = try FileSystem.read(path) } catch {
      throw CredentialError("\(what): the token file \(path) can't be read: \(error)")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    let token = text.drop { $0.isWhitespace }.prefix { !$0.isNewline }
    let rest = text.drop { $0.isWhitespace }.dropFirst(token.count)
    guard !token.isEmpty, rest.allSatisfy(\.isWhitespace), token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw CredentialError("\(what): the token file \(path) does not hold one token")
    }
    return String(token)
  }
}

extension Credentials {
  /// Out of a service's JSON; nil where one of the two is missing.
  init?(_ json: JSON, token: String) {
    guard let id = json["AccessKeyId"]?.string, let secret = json["SecretAccessKey"]?.string, !id.isEmpty,
      !secret.isEmpty
    else { return nil }
    let end = json["Expiration"]?.string.flatMap { Timestamp(rfc3339: $0) }.map { WallTime(seconds: $0.seconds) }
    self.init(accessKeyID: id, secretAccessKey: secret, sessionToken: json[token]?.string, expiration: end)
  }
}
