// What may be asked over HTTP: GET and HEAD. That nothing is ever written is a property of this type.

public struct HTTPRequest: Sendable {
  /// The only methods there are.
  public enum Method: String, Sendable { case get = "GET", head = "HEAD" }

  public var method: Method
  /// Absolute, percent-encoded; sent as it is, dot segments included.
  public var url: String
  /// Sent beside Host and User-Agent, in this order.
  public var headers: [HTTPField]
  /// Bounds the whole transfer, waiting for a connection included.
  public var timeout: Duration?
  /// A body of megabytes is expected: a large receive buffer pays.
  public var isBulk: Bool
  /// Goes over a connection of its own, which carried nothing before.
  public var isFresh: Bool

  public init(
    _ method: Method, url: String, headers: [HTTPField] = [], timeout: Duration? = nil, isBulk: Bool = false,
    isFresh: Bool = false
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.timeout = timeout
    self.isBulk = isBulk
    self.isFresh = isFresh
  }
}

/// A header field of a request.
public struct HTTPField: Hashable, Sendable {
  public var name: String
  public var value: String
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
