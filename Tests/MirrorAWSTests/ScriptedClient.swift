// An HTTP client without a network: answers come from a script, requests are kept.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

@testable import MirrorAWS

struct ScriptedAnswer: Sendable {
  var status = 200
  var fields: [(String, String)] = []
  var body: [UInt8] = []
  /// Fails instead, after the head if one has a status.
  var error: HTTPError.Kind?
  /// Somebody else's: nothing in it is S3's.
  var isForeign = false

  static func error(_ status: Int, _ code: String, extra: String = "", fields: [(String, String)] = [])
    -> ScriptedAnswer
  {
    ScriptedAnswer(
      status: status, fields: fields,
      body: Array("<Error><Code>\(code)</Code><Message>said the script</Message>\(extra)</Error>".utf8))
  }

  static func object(_ text: String, etag: String? = nil, fields: [(String, String)] = []) -> ScriptedAnswer {
    let md5 = hexadecimal(Digest.value(.md5, of: Array(text.utf8)))
    return ScriptedAnswer(
      fields: [("Content-Length", "\(text.utf8.count)"), ("ETag", etag ?? "\"\(md5)\"")] + fields,
      body: Array(text.utf8))
  }
}

final class ScriptedClient: HTTPClient {
  private let script: @Sendable (HTTPRequest, Int) -> ScriptedAnswer
  private let log = Mutex<[HTTPRequest]>([])

  init(_ script: @escaping @Sendable (HTTPRequest, Int) -> ScriptedAnswer) { self.script = script }
  /// In this order; the last goes on for ever.
  convenience init(_ answers: ScriptedAnswer...) { self.init { answers[min($1, answers.count - 1)] } }

  var requests: [HTTPRequest] { log.withLock { $0 } }

  func perform(_ request: HTTPRequest, handler: any HTTPResponseHandler) async throws(HTTPError) -> HTTPSummary {
    let index = log.withLock { log in
      log.append(request)
      return log.count - 1
    }
    let answer = script(request, index)
    if let error = answer.error, answer.status == 0 { throw HTTPError(error, wasSent: false, message: "scripted") }
    var goesOn = handler.head(
      HTTPHead(status: answer.status, fields: answer.fields + (answer.isForeign ? [] : [("x-amz-id-2", "script")])))
    var received: Int64 = 0
    var rest = answer.body[...]
    while goesOn, !rest.isEmpty, request.method == .get {
      let part = Array(rest.prefix(5))
      received += Int64(part.count)
      goesOn = handler.body(part.span.bytes)
      rest = rest.dropFirst(5)
    }
    if let error = answer.error {
      throw HTTPError(error, wasSent: true, status: answer.status, bodyBytes: received, message: "scripted")
    }
    return HTTPSummary(status: answer.status, bodyBytes: received, wasEnded: !goesOn)
  }
}

extension HTTPRequest {
  func field(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
}

/// Keeps what arrives.
final class CollectingSink: ObjectSink {
  private let state = Mutex((head: ObjectHead?.none, bytes: [UInt8]()))
  private let limit: Int
  private let refusesHead: Bool
  init(limit: Int = .max, refusesHead: Bool = false) {
    self.limit = limit
    self.refusesHead = refusesHead
  }
  var head: ObjectHead? { state.withLock { $0.head } }
  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var text: String { String(decoding: bytes, as: UTF8.self) }

  func begin(_ head: ObjectHead) -> Bool {
    state.withLock { $0.head = head }
    return !refusesHead
  }
  func receive(_ bytes: RawSpan) -> Bool {
    let part = bytes.withUnsafeBytes { Array($0) }
    return state.withLock { state in
      state.bytes += part
      return state.bytes.count < limit
    }
  }
}

/// A credential source that hands out the next key once the present one was refused.
final class RotatingCredentials: CredentialProvider {
  private let number = Mutex(1)
  let name = "rotating"
  func identity() async throws(CredentialError) -> Identity? {
    .signed(Credentials(accessKeyID: "K\(number.withLock { $0 })", secretAccessKey: "s"))
  }
  func refuse(_ identity: Identity, isCertain: Bool) async {
    number.withLock { if identity.credentials?.accessKeyID == "K\($0)" { $0 += 1 } }
  }
}

/// No service answers.
struct NoServices: HTTPExchanger {
  func exchange(_ request: HTTPExchange) async throws(HTTPError) -> HTTPReply {
    throw HTTPError(.connection, message: "no services here")
  }
}

/// No identity at all.
let nobody = StandardCredentials(
  environment: ["HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"], exchanger: NoServices())

let testCredentials = FixedCredentials(Credentials(accessKeyID: "testaccess", secretAccessKey: "testsecret"))

func makeStore(
  _ client: any HTTPClient, endpoint: String? = nil, region: String? = "us-east-1", bucket: String = "bucket",
  credentials: any CredentialProvider = testCredentials, ledger: Ledger = Ledger(), clock: any Clock = SystemClock()
) throws -> S3Store {
  try S3Store(
    configuration: S3Configuration(
      bucket: bucket, endpointURL: endpoint, region: region, credentials: credentials),
    transport: client, ledger: ledger, clock: clock)
}

/// The error that a call throws.
func storeError(_ body: () async throws -> Void) async -> StoreError? {
  do {
    try await body()
    return nil
  } catch { return error as? StoreError }
}
