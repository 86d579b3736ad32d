// A mount that is told of changes: joins its queue to its mirror.
import MirrorAWS
import MirrorCore
import MirrorHTTP
import MirrorPlatform
import MirrorStore

struct MountEvents: Sendable {
  private let transport: HTTPTransport
  private let watch: QueueWatch

  /// Nil where there is nothing to listen to.
  init?(
    _ settings: MountSettings, _ origin: OriginSettings, _ credentials: any CredentialProvider, _ mirror: BucketMirror,
    log: Log
  ) throws(Errno) {
    guard let queue = settings.events else { return nil }
    if settings.offline || settings.at != nil {
      log.warning("--events is not heeded: with --\(settings.offline ? "offline" : "at") nothing becomes stale")
      return nil
    }
    // Of its own: a queue is silent for long, and no reader is to wait for its connection.
    var own = origin.transport
    own.silenceLimit = .seconds(30)
    (own.maximumConnections, own.pooledConnections) = (2, 2)
    transport = try HTTPTransport(own)
    let reader = QueueReader(queue, region: origin.region, credentials: credentials, exchanger: transport)
    // Events have the bucket's own name, never that of an access point.
    let name = settings.source.bucket
    let isOther = name.hasPrefix("arn:") || name.hasSuffix("-s3alias")
    watch = QueueWatch(reader, bucket: isOther ? nil : name, prefix: settings.source.prefix, log: log) {
      [weak mirror] in
      await mirror?.heed($0)
    }
  }

  var status: QueueStatus { watch.status }

  func start() { watch.start() }
  func stop() { watch.stop() }

  /// Blocks until the thread has ended; not for the cooperative pool.
  func close() {
    watch.stop()
    transport.close()
  }
}
