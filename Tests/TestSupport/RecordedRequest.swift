// What a test server saw: every request with its outcome, and the sums by kind.
import MirrorPlatform
import MirrorStore

/// The questions S3 is asked.
public enum S3RequestKind: String, Sendable, CaseIterable {
  case get, head, list
  /// HeadBucket.
  case bucketHead
  /// Anything else.
  case other
}

/// One request in the order of arrival.
public struct RecordedRequest: Sendable {
  public let number: Int
  public let kind: S3RequestKind
  public let method: String
  /// As sent, still percent-encoded, query included.
  public let target: String
  public let key: ObjectKey?
  public let query: Query
  public let fields: Fields
  public let body: [UInt8]
  public let connection: Int
  public let arrived: Instant
  /// 0 until answered, or where no answer was sent.
  public var status = 0
  /// Bytes of the body handed to the kernel.
  public var bytesSent: Int64 = 0
  public var finished: Instant?

  /// The text of `Range`.
  public var range: String? { fields["range"] }
}

/// Requests by kind.
public struct RequestSums: Equatable, Sendable {
  public var gets = 0
  public var heads = 0
  public var lists = 0
  public var bucketHeads = 0
  public var others = 0
  public var notModified = 0
  /// Without an answer, or with one of 400 and above that is neither 404 nor 412.
  public var failed = 0
  public var bodyBytes: Int64 = 0
  public init() {}
  public var total: Int { gets + heads + lists + bucketHeads + others }

  mutating func count(_ kind: S3RequestKind) {
    switch kind {
    case .get: gets += 1
    case .head: heads += 1
    case .list: lists += 1
    case .bucketHead: bucketHeads += 1
    case .other: others += 1
    }
  }

  mutating func count(status: Int) {
    if status == 304 { notModified += 1 }
    if status == 0 || (status >= 400 && status != 404 && status != 412) { failed += 1 }
  }
}

/// Where a request is meant to go, in path style or by a virtual host.
struct S3Address {
  let bucket: String
  /// Nil where the bucket itself is meant.
  let key: ObjectKey?
  let query: Query
  let kind: S3RequestKind

  init(_ head: MessageHead, bucket expected: String) {
    let parts = head.target.split(separator: 0x3F, maxSplits: 1, omittingEmptySubsequences: false)
    query = Query(parts.count > 1 ? parts[1] : [])
    var path = parts[0].dropFirst()
    if let host = head.fields["host"], host.hasPrefix(expected + ".") {
      bucket = expected
    } else {
      let end = path.firstIndex(of: 0x2F) ?? path.endIndex
      bucket = String(decoding: percentDecoded(path[..<end], form: false), as: UTF8.self)
      path = path[end...].dropFirst()
    }
    key = path.isEmpty ? nil : ObjectKey(percentDecoded(path, form: false))
    switch (head.method, key == nil) {
    case ("GET", false): kind = .get
    case ("HEAD", false): kind = .head
    case ("HEAD", true): kind = bucket.isEmpty ? .other : .bucketHead
    case ("GET", true): kind = query.bytes("list-type") != nil || query.bytes("max-keys") != nil ? .list : .other
    default: kind = .other
    }
  }
}
