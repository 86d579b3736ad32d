// What environment and shared files say about everything but keys; options of the user come before all of it.

/// Settings in the order of the AWS SDKs: environment, then profile.
public struct AWSSettings: Hashable, Sendable {
  public var region: String?
  public var endpointURL: String?
  public var caBundle: String?
  /// AWS_MAX_ATTEMPTS or max_attempts: attempts in all, at least 1.
  public var maximumAttempts: Int?
  /// `addressing_style`: true for `path`, false for `virtual`.
  public var pathStyle: Bool?
  public var requesterPays: Bool

  public init(environment: [String: String], profile: AWSProfile?) {
    let ignoresURLs =
      (environment.nonEmpty("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") ?? profile?["ignore_configured_endpoint_urls"])?
      .lowercased() == "true"
    region = environment.nonEmpty("AWS_REGION", "AWS_DEFAULT_REGION") ?? profile?.region
    endpointURL =
      ignoresURLs ? nil : environment.nonEmpty("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") ?? profile?.endpointURL
    caBundle = environment.nonEmpty("AWS_CA_BUNDLE") ?? profile?["ca_bundle"]
    maximumAttempts = (environment.nonEmpty("AWS_MAX_ATTEMPTS") ?? profile?["max_attempts"]).flatMap { Int($0) }
      .flatMap { $0 >= 1 ? $0 : nil }
    switch profile?["s3.addressing_style"] {
    case "path": pathStyle = true
    case "virtual": pathStyle = false
    default: pathStyle = nil
    }
    requesterPays = environment.nonEmpty("AWS_REQUEST_PAYER")?.lowercased() == "requester"
  }
}
