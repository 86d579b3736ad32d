// Where the bucket is and who asks: options first, then environment and profile as for every AWS tool.
import MirrorAWS
import MirrorHTTP
import MirrorPlatform
import MirrorStore

struct OriginSettings: Sendable {
  let s3: S3Configuration
  let transport: HTTPSettings
  /// Attempts of one request in all.
  let retries: RetryPolicy
  /// Names the endpoint for the cache, whatever the region: a bucket's name is unique in a partition of AWS.
  let name: String

  init(_ settings: MountSettings, clock: SystemClock, log: Log) {
    let environment = ProcessEnvironment.read()
    let source = AWSProfileSource(environment: environment, profile: settings.profile)
    let aws = AWSSettings(environment: environment, profile: source.read())
    let credentials: any CredentialProvider =
      settings.anonymous
      ? AnonymousCredentials()
      : CredentialChain.standard(environment: environment, profile: settings.profile, clock: clock, log: log)
    let url = settings.endpointURL ?? aws.endpointURL
    let region = settings.region ?? aws.region
    s3 = S3Configuration(
      bucket: settings.source.bucket, endpointURL: url, region: region,
      pathStyle: settings.pathStyle ? true : aws.pathStyle, requesterPays: aws.requesterPays, credentials: credentials)
    var transport = HTTPSettings()
    transport.caBundle = aws.caBundle
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
  }
}
