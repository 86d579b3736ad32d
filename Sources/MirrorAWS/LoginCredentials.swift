// Credentials that `aws login` left in its cache; renewing them is that command's affair.
import MirrorPlatform

extension CredentialFetcher {
  func login(_ profile: String, _ session: String) throws(CredentialError) -> Credentials {
    let directory = environment.nonEmpty("AWS_LOGIN_CACHE_DIRECTORY") ?? home + "/.aws/login/cache"
    let name = hexadecimal(Digest.value(.sha256, of: Array(session.utf8)))
    let cure = "aws login --profile \(profile)"
    guard let bytes = try? FileSystem.read("\(directory)/\(name).json") else {
      throw CredentialError("profile \(profile) is not logged in; \(cure) does it")
    }
    guard let token = JSON(parsing: bytes)?["accessToken"], let id = token["accessKeyId"]?.string,
      let secret = token["secretAccessKey"]?.string,
      let end = token["expiresAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
    else { throw CredentialError("what aws login left of profile \(profile) makes no sense; \(cure) writes it anew") }
    let expiration = WallTime(seconds: end.seconds)
    guard expiration > clock.wall() else {
      throw CredentialError("profile \(profile): the login ended at \(end.rfc3339); \(cure) renews it")
    }
    return Credentials(
      accessKeyID: id, secretAccessKey: secret, sessionToken: token["sessionToken"]?.string, expiration: expiration)
  }
}
