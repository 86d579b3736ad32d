// Where the bucket is and who asks: options first, then environment and profile as for every AWS tool.
import MirrorAWS
import MirrorHTTP
import MirrorPlatform
import MirrorStore

struct OriginSettings: Sendable {
  /// All of it but who asks.
  private var bucket: S3Configuration
  private let environment: [String: String]
  private let profile: String?
  private let isAnonymous: Bool
  let transport: HTTPSettings
  /// Attempts of one request in all.
  let retries: RetryPolicy
  /// Names the endpoint for the cache, whatever the region: a bucket's name is unique in a partition of AWS.
  let name: String

  var endpointURL: String? { bucket.endpointURL }
  var region: String? { bucket.region }
  /// For people.
  let summary: String

  /// `exchanger` asks the services that hand out credentials.
  func s3(_ exchanger: any HTTPExchanger, clock: SystemClock, log: Log) -> S3Configuration {
    var s3 = bucket
    if !isAnonymous {
      s3.credentials = StandardCredentials(
        environment: environment, profile: profile, exchanger: exchanger, clock: clock, log: log)
    }
    return s3
  }

  init(_ settings: MountSettings) {
    environment = ProcessEnvironment.read()
    profile = settings.profile
    isAnonymous = settings.anonymous
    let source = AWSProfileSource(environment: environment, profile: settings.profile)
    let aws = AWSSettings(environment: environment, profile: source.read())
    let url = settings.endpointURL ?? aws.endpointURL
    let region = settings.region ?? aws.region
    var options = aws.options
    if settings.pathStyle { options.pathStyle = true }
    bucket = S3Configuration(
      bucket: settings.source.bucket, endpointURL: url, region: region, options: options,
      requesterPays: settings.requesterPays || aws.requesterPays, expectedOwner: settings.expectedOwner,
      credentials: AnonymousCredentials())
    bucket.customerKeys = settings.customerKeys
    bucket.usesSessions = aws.usesSessions && !settings.anonymous
    var transport = HTTPSettings()
    transport.caBundle = settings.caBundle ?? aws.caBundle
    transport.clientCertificate = settings.clientCertificate
    transport.clientKey = settings.clientKey
    transport.userAgent = "s3mirror/\(programVersion)"
    if let connections = settings.maximumConnections {
      transport.maximumConnections = connections
      transport.pooledConnections = min(connections, transport.pooledConnections)
    }
    self.transport = transport
    retries = RetryPolicy(
      maximumAttempts: aws.maximumAttempts ?? 3, attemptsWhileBusy: aws.maximumAttempts ?? 8)
    var name = url ?? (region?.hasPrefix("cn-") == true ? "https://s3.amazonaws.com.cn" : "https://s3.amazonaws.com")
    while name.hasSuffix("/") { name.removeLast() }
    self.name = name
    summary =
      "profile \(source.name)\(source.read() == nil ? " (there is none)" : ""), region \(region ?? "not set"), "
      + "endpoint \(url ?? "AWS")"
  }
}
