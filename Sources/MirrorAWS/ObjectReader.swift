// The body of a GetObject: checked against what was asked before a sink sees it, and against its digests after.
import MirrorHTTP
import MirrorStore

/// `@unchecked Sendable`: the transfer thread writes while the request runs, its caller reads after it ended.
final class ObjectReader: AnswerReader, @unchecked Sendable {
  enum Verdict {
    case body
    /// A 200 with the very tag that should not match: the server ignores If-None-Match.
    case notModified(modified: Int64?, caching: CachingFields)
    case fault(StoreError.Code, String)
    case ended
  }

  /// Unwanted bodies up to this size are read to their end: cheaper than a new connection.
  static let drainLimit: Int64 = 64 << 10

  private let request: GetRequest
  private let sink: any ObjectSink
  private(set) var verdict = Verdict.body
  private(set) var head: ObjectHead?
  private(set) var checksum: BodyChecksum?
  private(set) var received: Int64 = 0
  /// The checksum has seen what came before.
  private(set) var isResumed = false
  /// What this body may be the rest of.
  private let broken: BrokenBody?
  /// Whether the value that comes with a part says anything of the part.
  private let partsProve: @Sendable () -> Bool

  init(
    _ request: GetRequest, _ sink: any ObjectSink, after broken: BrokenBody? = nil,
    partsProve: @escaping @Sendable () -> Bool = { true }
  ) {
    self.request = request
    self.sink = sink
    self.broken = broken
    self.partsProve = partsProve
  }

  /// What came before it broke off, if the end was to prove all of it.
  var brokenOff: BrokenBody? {
    // Nothing of its rest came.
    guard let head else { return broken }
    guard case .body = verdict, let checksum, head.isWhole && received > 0 || isResumed else { return nil }
    return BrokenBody(revision: head.revision, position: head.start + received, checksum: checksum)
  }

  func begin(_ answer: HTTPHead) -> Bool {
    switch Self.extent(of: answer, asked: request.range) {
    case .failure(let fault): return end(.fault(.malformedResponse, fault.message))
    case .success(let extent):
      var metadata = ObjectMetadata(answer, size: extent.size, isPart: extent.isPart)
      if let version = request.version { metadata.revision.version = version }
      let length = extent.end - extent.start
      if !metadata.revision.isIdentified, request.condition != .none || !answer.isFromS3 {
        // A server that gave a tag gives it again; a portal in between does not, and has no word of S3's.
        return end(
          .fault(.malformedResponse, "nothing says which object this is: it has neither ETag nor Last-Modified"))
      }
      switch request.condition {
      case .ifNoneMatch(let tag) where metadata.revision.etag == tag:
        verdict = .notModified(modified: metadata.revision.modified, caching: metadata.caching)
        return length <= Self.drainLimit
      case .ifMatch(let tag) where metadata.revision.etag != nil && metadata.revision.etag != tag:
        return end(.fault(.preconditionFailed, "the object has another ETag than asked for"))
      default: break
      }
      var head = ObjectHead(metadata: metadata, start: extent.start, end: extent.end)
      if let broken, head.start == broken.position, head.end == head.revision.size, head.revision == broken.revision {
        checksum = broken.checksum
        isResumed = true
      } else {
        checksum = BodyChecksum(head, answer, isPart: extent.isPart)
      }
      if isResumed {
        head.provenFrom = 0
      } else if checksum != nil, head.isWhole || partsProve() {
        head.provenFrom = head.start
      }
      self.head = head
      return sink.begin(head) || end(.ended)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .body = verdict, let head else { return true }
    received += Int64(bytes.byteCount)
    guard received <= head.end - head.start else {
      return end(.fault(.malformedResponse, "the body is longer than announced"))
    }
    checksum?.update(bytes)
    return sink.receive(bytes) || end(.ended)
  }

  private func end(_ verdict: Verdict) -> Bool {
    self.verdict = verdict
    return false
  }

  private struct Fault: Error { let message: String }

  private typealias Extent = (start: Int64, end: Int64, size: Int64, isPart: Bool)

  /// Which bytes follow. A 200 to a range is legal and means all of them (RFC 9110 §14.2), unless it says itself that it
  /// has no more than the range: one server answers parts so.
  private static func extent(of answer: HTTPHead, asked: ByteRange?) -> Result<Extent, Fault> {
    switch (answer.status, asked) {
    case (200, _):
      guard let length = answer.contentLength else { return .failure(Fault(message: "the answer has no length")) }
      if let asked, let range = answer.text("content-range").flatMap({ ContentRange($0) }), range.start == asked.start,
        range.end == min(asked.end ?? range.size, range.size), length == range.end - range.start
      {
        return .success((range.start, range.end, range.size, isPart: true))
      }
      return .success((0, length, length, isPart: false))
    case (206, let asked?):
      guard let range = answer.text("content-range").flatMap({ ContentRange($0) }) else {
        return .failure(Fault(message: "a part came without a usable Content-Range"))
      }
      guard range.start == asked.start, range.end == min(asked.end ?? range.size, range.size) else {
        return .failure(Fault(message: "another range came than was asked for"))
      }
      // A proxy that encodes in transit leaves the old Content-Range beside a new length.
      if let length = answer.contentLength, length != range.end - range.start {
        return .failure(Fault(message: "Content-Length and Content-Range contradict each other"))
      }
      return .success((range.start, range.end, range.size, isPart: true))
    default: return .failure(Fault(message: "status \(answer.status) is no answer to a GetObject"))
    }
  }
}
