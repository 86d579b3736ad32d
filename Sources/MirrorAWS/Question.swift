// One request to S3 before it has an address, a date and a signature.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

struct Question: Sendable {
  var operation: String
  /// Bucket or bucket/key, for messages.
  var subject: String
  var kind: RequestKind
  var method: HTTPRequest.Method = .get
  /// Nil: the bucket itself.
  var key: ObjectKey?
  /// What the keys begin with that a listing is asked for.
  var listed = ObjectKey([])
  var query: [(name: String, value: [UInt8])] = []
  var headers: [HTTPField] = []
  var deadline: Instant?
  var isBulk = false
  /// By a session of the bucket's, where it has sessions (S3 Express).
  var bySession = true
  /// Over a connection that carried nothing before.
  var isFresh = false

  /// Where the ledger puts it.
  var place: ObjectKey { key ?? listed }

  func asks(_ field: String) -> Bool { headers.contains { $0.name == field } }

  /// A 404 says that there is no bucket.
  var isAboutBucket: Bool { key == nil }
}

extension Question {
  /// The request as sent to a place, signed for this moment.
  func request(
    at target: Target, identity: Identity, date: Timestamp, keys: SigningKeys, timeout: Duration?
  ) -> HTTPRequest {
    let query = CanonicalQuery(self.query)
    let path = target.path.isEmpty ? "/" : target.path
    var headers = headers
    if let credentials = identity.credentials {
      let signer = SigV4(credentials: credentials, region: target.region, service: target.service, date: date)
      headers.append(HTTPField("x-amz-content-sha256", SigV4.emptyHash))
      headers.append(HTTPField("x-amz-date", signer.stamp))
      if let token = credentials.sessionToken {
        let isOfBucket = credentials.isSession
        headers.append(HTTPField(isOfBucket ? "x-amz-s3session-token" : "x-amz-security-token", token))
      }
      let signed = headers.filter { $0.name.hasPrefix("x-amz-") }.map { (name: $0.name, value: $0.value) }
      let canonical = CanonicalRequest(
        method: method.rawValue, path: path, query: query,
        headers: signed + [(name: "host", value: target.address.hostHeader)])
      headers.append(HTTPField("Authorization", signer.authorization(canonical, key: keys.key(for: signer))))
    }
    let url = target.address.url + path + (query.text.isEmpty ? "" : "?\(query.text)")
    return HTTPRequest(method, url: url, headers: headers, timeout: timeout, isBulk: isBulk, isFresh: isFresh)
  }
}

/// Where a request goes.
struct Target: Hashable, Sendable {
  var address: HostAddress
  /// Encoded, the key included.
  var path: String
  var region: String
  var service: String

  init(_ endpoint: Endpoint, key: ObjectKey?) {
    address = endpoint.address
    path = endpoint.path + (key.map { CanonicalQuery.path(key: $0.bytes) } ?? "")
    region = endpoint.signingRegion
    service = endpoint.service
  }
}
