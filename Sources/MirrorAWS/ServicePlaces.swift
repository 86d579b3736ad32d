// Where the services are that hand out credentials; a bucket's endpoint is none of them.
import MirrorPlatform

struct ServicePlaces: Sendable {
  enum Service: String {
    case sts
    case sso
    case tokens = "sso_oidc"
  }

  /// The region that STS is asked in.
  let region: String
  private let configured: [Service: String]
  private let fips: Bool

  init(environment: [String: String], profile: AWSProfile?) {
    let settings = AWSSettings(environment: environment, profile: profile)
    region = settings.region ?? "us-east-1"
    fips = settings.options.fips
    var configured: [Service: String] = [:]
    if !settings.ignoresURLs {
      for service in [Service.sts, .sso, .tokens] {
        configured[service] =
          environment.nonEmpty("AWS_ENDPOINT_URL_\(service.rawValue.uppercased())", "AWS_ENDPOINT_URL")
          ?? profile?.endpointURL(of: service.rawValue)
      }
    }
    self.configured = configured
  }

  /// Without a trailing slash.
  func url(_ service: Service, region: String) -> String {
    if var url = configured[service] {
      while url.hasSuffix("/") { url.removeLast() }
      return url
    }
    let suffix = Endpoint.suffix(region: region)
    switch service {
    // Those of AWS GovCloud are all of that kind.
    case .sts: return "https://sts\(fips && !region.hasPrefix("us-gov-") ? "-fips" : "").\(region).\(suffix)"
    case .sso: return "https://portal.sso.\(region).\(suffix)"
    case .tokens: return "https://oidc.\(region).\(suffix)"
    }
  }
}
