// What environment and shared files say about everything but keys; options of the user come before all of it.

/// Settings in the order of the AWS SDKs: environment, then profile.
public struct AWSSettings: Hashable, Sendable {
  public var region: String?
  public var endpointURL: String?
  public var caBundle: String?
  /// AWS_MAX_ATTEMPTS or max_attempts: attempts in all, at least 1.
  public var maximumAttempts: Int?
  /// Path style by `addressing_style`: true for `path`, false for `virtual`.
  public var options: EndpointOptions
  public var requesterPays: Bool
  /// Directory buckets are asked by sessions.
  public var usesSessions: Bool
  /// Endpoint URLs of environment and files are not to be used.
  let ignoresURLs: Bool

  public init(environment: [String: String], profile: AWSProfile?) {
    ignoresURLs =
      (environment.nonEmpty("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") ?? profile?["ignore_configured_endpoint_urls"])?
      .lowercased() == "true"
    region = environment.nonEmpty("AWS_REGION", "AWS_DEFAULT_REGION") ?? profile?.region
    endpointURL =
      ignoresURLs ? nil : environment.nonEmpty("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") ?? profile?.endpointURL
    caBundle = environment.nonEmpty("AWS_CA_BUNDLE") ?? profile?["ca_bundle"]
    maximumAttempts = (environment.nonEmpty("AWS_MAX_ATTEMPTS") ?? profile?["max_attempts"]).flatMap { Int($0) }
      .flatMap { $0 >= 1 ? $0 : nil }
    options = EndpointOptions(environment: environment, profile: profile)
    usesSessions =
      (environment.nonEmpty("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH") ?? profile?["s3_disable_express_session_auth"])?
      .lowercased() != "true"
    requesterPays = environment.nonEmpty("AWS_REQUEST_PAYER")?.lowercased() == "requester"
  }
}

extension EndpointOptions {
  init(environment: [String: String], profile: AWSProfile?) {
    func flag(_ variable: String, _ keys: String...) -> Bool? {
      let text = environment.nonEmpty(variable) ?? keys.lazy.compactMap { profile?[$0] }.first
      return text.map { $0.lowercased() == "true" }
    }
    self.init(
      dualStack: flag("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint", "s3.use_dualstack_endpoint") ?? false,
      fips: flag("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint") ?? false,
      accelerate: flag("AWS_S3_USE_ACCELERATE_ENDPOINT", "s3.use_accelerate_endpoint") ?? false,
      followsARN: flag("AWS_S3_USE_ARN_REGION", "s3_use_arn_region", "s3.use_arn_region") ?? true)
    switch profile?["s3.addressing_style"] {
    case "path": pathStyle = true
    case "virtual": pathStyle = false
    default: break
    }
  }
}
