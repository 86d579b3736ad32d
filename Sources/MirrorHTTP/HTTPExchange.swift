// A question to a service that hands out credentials, or to a queue: beside GET there are POST and PUT, and no bucket is
// asked so.
import MirrorPlatform

/// What such a service is asked. The layer that talks to a bucket has an `HTTPClient`, which can't send this.
public struct HTTPExchange: Sendable {
  public enum Method: Sendable { case get, post, put }

  public var method: Method
  public var url: String
  public var headers: [HTTPField]
  public var body: [UInt8]
  /// Bounds the time to the answer's head.
  public var timeout: Duration
  /// Bounds name look-up, TCP and TLS; nil for the transport's own.
  public var connectTimeout: Duration?
  /// Never through a proxy, whatever the environment says.
  public var isDirect: Bool

  public init(
    _ method: Method, url: String, headers: [HTTPField] = [], body: [UInt8] = [], timeout: Duration = .seconds(10),
    connectTimeout: Duration? = nil, isDirect: Bool = false
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.connectTimeout = connectTimeout
    self.isDirect = isDirect
  }
}

/// A whole answer.
public struct HTTPReply: Sendable {
  public let head: HTTPHead
  public let body: [UInt8]
  public var status: Int { head.status }

  public init(head: HTTPHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }
}

/// Asks services other than the bucket. Safe to share.
public protocol HTTPExchanger: Sendable {
  /// The whole answer, whatever its status; redirects are not followed. `malformed` for more than 1 MiB.
  func exchange(_ request: HTTPExchange) async throws(HTTPError) -> HTTPReply
}

extension HTTPTransport: HTTPExchanger {
  public func exchange(_ request: HTTPExchange) async throws(HTTPError) -> HTTPReply {
    let collector = ReplyCollector()
    let summary = try await perform(WireRequest(request), handler: collector)
    guard let head = collector.received, !summary.wasEnded else {
      throw HTTPError(.malformed, wasSent: true, status: summary.status, message: "the answer is too long")
    }
    return HTTPReply(head: head, body: collector.bytes)
  }
}

/// `@unchecked Sendable`: the transfer thread writes while `perform` runs, its caller reads after it returned.
private final class ReplyCollector: HTTPResponseHandler, @unchecked Sendable {
  private static let limit = 1 << 20
  private(set) var received: HTTPHead?
  private(set) var bytes: [UInt8] = []

  func head(_ head: HTTPHead) -> Bool {
    received = head
    return true
  }

  func body(_ part: RawSpan) -> Bool {
    guard bytes.count + part.byteCount <= Self.limit else { return false }
    bytes.append(contentsOf: part)
    return true
  }
}
