// Any request in the transport's terms.

struct WireRequest: Sendable {
  enum Method { case get, head, post, put }

  var method: Method
  var url: String
  var headers: [HTTPField]
  var body: [UInt8] = []
  var timeout: Duration?
  var connectTimeout: Duration?
  var isBulk = false
  var isFresh = false
  var isDirect = false
  /// Sent once more by libcurl itself, where a kept connection ends before an answer.
  var mayBeResent = false

  init(_ request: HTTPRequest) {
    method = request.method == .head ? .head : .get
    url = request.url
    headers = request.headers
    timeout = request.timeout
    isBulk = request.isBulk
    isFresh = request.isFresh
  }

  init(_ request: HTTPExchange) {
    switch request.method {
    case .get: method = .get
    case .post: method = .post
    case .put: method = .put
    }
    url = request.url
    headers = request.headers
    body = request.body
    timeout = request.timeout
    connectTimeout = request.connectTimeout
    isDirect = request.isDirect
    mayBeResent = true
  }
}
