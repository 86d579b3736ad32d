// The contract of an HTTP exchange: who asks, who receives, what is known at its end.

/// Sends requests; `HTTPTransport` over libcurl, or a script in tests.
public protocol HTTPClient: Sendable {
  /// Sends one request and returns when its answer is complete, or ended by its handler.
  func perform(_ request: HTTPRequest, handler: any HTTPResponseHandler) async throws(HTTPError) -> HTTPSummary
}

/// Receives an answer. Calls come one at a time from the transfer thread and must not wait for the network; none comes
/// after `perform` returned.
public protocol HTTPResponseHandler: AnyObject, Sendable {
  /// The final status and fields, once; false ends the transfer.
  func head(_ head: HTTPHead) -> Bool
  /// The next bytes of the body; false ends the transfer.
  func body(_ bytes: RawSpan) -> Bool
}

/// How an exchange went that had an answer.
public struct HTTPSummary: Sendable {
  public var status: Int
  /// Body bytes that arrived.
  public var bodyBytes: Int64
  /// The handler said false.
  public var wasEnded: Bool

  public init(status: Int, bodyBytes: Int64, wasEnded: Bool = false) {
    self.status = status
    self.bodyBytes = bodyBytes
    self.wasEnded = wasEnded
  }
}

/// Why an exchange failed.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
  public enum Kind: Sendable {
    /// No connection: name not found, refused, no route, connect timeout.
    case connection
    /// No trust: certificate or handshake.
    case tls
    /// Connected, then silent for too long, or the time allowed is over.
    case timeout
    /// Sent on a connection that had carried others, and that ended before an answer began: a server that closes what
    /// is idle may never have read it. A new connection will tell.
    case lost
    /// Cut after it was sent: reset, or a body shorter than announced.
    case interrupted
    /// What came is not HTTP.
    case malformed
    /// The request can't be sent as it is.
    case invalid
    /// The task was cancelled.
    case cancelled
    /// The transport is closed.
    case closed
  }

  public let kind: Kind
  /// Bytes of the request reached the connection: a server may count it.
  public let wasSent: Bool
  /// Status of the head that came, else 0.
  public let status: Int
  public let bodyBytes: Int64
  /// libcurl's words; no header or query is in them.
  public let message: String

  public init(_ kind: Kind, wasSent: Bool = false, status: Int = 0, bodyBytes: Int64 = 0, message: String) {
    self.kind = kind
    self.wasSent = wasSent
    self.status = status
    self.bodyBytes = bodyBytes
    self.message = message
  }

  public var description: String { message }
}
