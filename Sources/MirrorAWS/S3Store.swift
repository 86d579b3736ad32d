// The bucket behind S3's REST interface: four questions, each checked before it is believed.
public import MirrorHTTP
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// Safe to share. Each call asks once, and again only where the answer itself says what to correct (region, clock,
/// keys, host); other retries are `RetryingStore`'s.
public final class S3Store: ObjectStore {
  let configuration: S3Configuration
  let client: any HTTPClient
  let ledger: Ledger
  let clock: any Clock
  let log: Log
  let site: S3Site
  let keys = SigningKeys()
  let classes = KnownClasses()
  let customerKeys: CustomerKeyring
  /// Of a directory bucket, unless its requests are signed one by one.
  var sessions: BucketSessions? { sessionsMade.withLock { $0 } }
  private let sessionsMade = Mutex<BucketSessions?>(nil)
  let proof: S3Proof
  /// What the server is found not to do; whoever plans requests should know.
  public let traits: ServerTraits

  /// Throws where no address can be made of the configuration; nothing is sent.
  public init(
    configuration: S3Configuration, transport: any HTTPClient, ledger: Ledger, clock: any Clock = SystemClock(),
    log: Log = .none
  ) throws(EndpointError) {
    self.configuration = configuration
    customerKeys = CustomerKeyring(configuration.customerKeys)
    client = transport
    self.ledger = ledger
    self.clock = clock
    self.log = log
    let endpoint = try configuration.endpoint()
    site = S3Site(endpoint)
    traits = ServerTraits(clock: clock, given: endpoint.isDirectory ? [.order] : [])
    // Those of directory buckets are not made of the bytes.
    proof = S3Proof(tagsArePromised: !endpoint.isCustom && !endpoint.isDirectory, traits)
    guard endpoint.isDirectory, configuration.usesSessions else { return }
    let sessions = BucketSessions(clock: clock, log: log) { [weak self] () async throws(StoreError) in
      guard let self else {
        throw StoreError(.cancelled, operation: "CreateSession", subject: configuration.bucket, message: "it is over")
      }
      return try await self.createSession()
    }
    sessionsMade.withLock { $0 = sessions }
  }

  /// Remembers what the server was met without, and says so once.
  func note(_ lack: ServerLack) {
    traits.note(lack)
    log.once(.notice, key: "lack \(lack.rawValue)", "\(site.endpoint.host) \(lack.remedy)")
  }

  /// The region that signatures name now.
  public var region: String { site.endpoint.signingRegion }
  /// Host and port requests go to now.
  public var endpointHost: String { site.endpoint.host }
  /// The bucket's URL.
  public var endpointURL: String { site.endpoint.address.url + site.endpoint.path }
  public var bucket: String { configuration.bucket }
  /// A bucket of S3 Express, with prices of its own.
  public var isDirectoryBucket: Bool { site.endpoint.isDirectory }

  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    var question = question("HeadObject", .head, key: request.key, deadline: request.deadline)
    try question.checkKey()
    question.ask(for: request.version)
    let head = try await ask(question, reader: NoBody())
    guard head.status == 200, let size = head.contentLength else {
      throw question.malformed("the answer has no length", head)
    }
    var metadata = ObjectMetadata(head, size: size, isPart: false)
    if !metadata.revision.isIdentified, !head.isFromS3 {
      throw question.malformed("nothing says which object this is: it has neither ETag nor Last-Modified", head)
    }
    if let version = request.version { metadata.revision.version = version }
    return metadata
  }

  public func probe(deadline: Instant?) async throws(StoreError) {
    var question = question("HeadBucket", .head, key: nil, deadline: deadline)
    question.bySession = false
    _ = try await ask(question, reader: NoBody())
  }

  func question(_ operation: String, _ kind: RequestKind, key: ObjectKey?, deadline: Instant?) -> Question {
    let subject = key.map { "\(configuration.bucket)/\($0)" } ?? configuration.bucket
    var question = Question(
      operation: operation, subject: subject, kind: kind, method: kind == .head ? .head : .get, key: key,
      deadline: deadline)
    if configuration.requesterPays { question.headers.append(HTTPField("x-amz-request-payer", "requester")) }
    if let owner = configuration.expectedOwner {
      question.headers.append(HTTPField("x-amz-expected-bucket-owner", owner))
    }
    return question
  }
}

extension Question {
  /// Nil: the current version.
  mutating func ask(for version: String?) {
    if let version { query.append(("versionId", Array(version.utf8))) }
  }

  /// An empty key would ask the bucket itself.
  func checkKey() throws(StoreError) {
    if key?.bytes.isEmpty ?? true { throw fault(.invalidRequest, "an empty key") }
  }

  func malformed(_ message: String, _ head: HTTPHead?) -> StoreError { fault(.malformedResponse, message, head) }

  /// A 200 was sent before the trouble began (S3 API Reference).
  func late(_ document: ErrorDocument, _ head: HTTPHead) -> StoreError {
    StoreError(
      .serverError, operation: operation, subject: subject, status: head.status, reason: document.code,
      message: document.message, requestID: document.requestID)
  }

  func fault(_ code: StoreError.Code, _ message: String, _ head: HTTPHead? = nil) -> StoreError {
    StoreError(
      code, operation: operation, subject: subject, status: head?.status ?? 0, message: message,
      requestID: head?.text("x-amz-request-id"))
  }
}
