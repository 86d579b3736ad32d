// What a transport is told at its start: bounds of time, connections, trust.

public struct HTTPSettings: Sendable {
  /// Name look-up, TCP and TLS together (the AWS SDKs' standard).
  public var connectTimeout: Duration = .milliseconds(3100)
  /// Without a byte for so long, a transfer ends; whole seconds.
  public var silenceLimit: Duration = .seconds(10)
  /// A pooled connection idle for longer is not used again (S3 closes after about 5 s); whole seconds.
  public var idleLimit: Duration = .seconds(4)
  /// How long a name's addresses are believed; whole seconds.
  public var addressLifetime: Duration = .seconds(60)
  /// Connections open at once; further requests wait.
  public var maximumConnections = 64
  /// Connections kept for reuse.
  public var pooledConnections = 64
  /// A PEM file of trusted authorities in place of the system's.
  public var caBundle: String?
  /// PEM files of what this side shows for itself, where a server asks for it.
  public var clientCertificate: String?
  public var clientKey: String?
  public var userAgent = "s3mirror"
  /// Receive buffers, bytes.
  public var smallBuffer = 64 << 10
  public var bulkBuffer = 512 << 10

  public init() {}
}
