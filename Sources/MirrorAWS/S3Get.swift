// GetObject: the request's fields, and the verdict on its answer.
import MirrorHTTP
import MirrorPlatform
public import MirrorStore

extension S3Store {
  /// Ranges from here on get a large receive buffer; a GET without one is mostly of a small object.
  private static let bulkSize: Int64 = 1 << 20

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    if let outcome = try await unchanged(request) { return outcome }
    var question = question("GetObject", .get, key: request.key, deadline: request.deadline)
    try question.checkKey()
    question.ask(for: request.version)
    question.headers.append(HTTPField("x-amz-checksum-mode", "ENABLED"))
    question.isFresh = proof.takeSuspect(request.key)
    question.isBulk = request.range.map { ($0.end ?? .max) - $0.start >= Self.bulkSize } ?? false
    if let range = request.range {
      guard range.start >= 0, range.end.map({ $0 > range.start }) ?? true else {
        throw question.fault(.invalidRequest, "an empty range was asked for")
      }
      question.headers.append(HTTPField("Range", "bytes=\(range.start)-\(range.end.map { "\($0 - 1)" } ?? "")"))
    }
    switch request.condition {
    case .none: break
    case .ifNoneMatch(let tag): question.headers.append(HTTPField("If-None-Match", tag.field))
    // A version never changes, and not every server compares the tag of the one that is meant.
    case .ifMatch where request.version != nil: break
    case .ifMatch(let tag): question.headers.append(HTTPField("If-Match", tag.field))
    }
    let broken = request.range.flatMap { proof.takeBroken(request.key, at: $0.start) }
    let reader = ObjectReader(request, sink, after: broken) { [proof] in !proof.claims.isDisproven }
    let head: HTTPHead
    do throws(StoreError) { head = try await ask(question, reader: reader) } catch {
      if let broken = reader.brokenOff { proof.keep(broken, of: request.key) }
      throw error
    }
    return try await outcome(question, request, head, reader)
  }

  /// Where the server would send an unchanged object again, a HEAD asks first.
  private func unchanged(_ request: GetRequest) async throws(StoreError) -> GetOutcome? {
    guard case .ifNoneMatch(let tag) = request.condition, traits.lacks(.noneMatch) else { return nil }
    let known = try await head(HeadRequest(key: request.key, version: request.version, deadline: request.deadline))
    if known.revision.etag == tag { return .notModified(modified: known.revision.modified, caching: known.caching) }
    try await Allowance.current?.again()
    return nil
  }

  private func outcome(
    _ question: Question, _ request: GetRequest, _ head: HTTPHead, _ reader: ObjectReader
  ) async throws(StoreError) -> GetOutcome {
    if head.status == 304 {
      guard case .ifNoneMatch = request.condition else { throw question.malformed("304 to an unconditional GET", head) }
      let known = ObjectMetadata(head, size: 0, isPart: true)
      return .notModified(modified: known.revision.modified, caching: known.caching)
    }
    noteOddity(request, head, reader)
    switch reader.verdict {
    case .ended: return .ended
    case .notModified(let modified, let caching): return .notModified(modified: modified, caching: caching)
    case .fault(let code, let message): throw question.fault(code, message, head)
    case .body: break
    }
    guard let object = reader.head, reader.received == object.end - object.start else {
      throw question.fault(.interrupted, "the body ended early", head)
    }
    try await verify(question, object, reader, head)
    return .delivered(object)
  }

  /// Servers that leave out what S3 promises are remembered for it.
  private func noteOddity(_ request: GetRequest, _ head: HTTPHead, _ reader: ObjectReader) {
    // Small bodies cost no more than the HEAD that would ask first.
    if case .notModified = reader.verdict, head.contentLength.map({ $0 > ObjectReader.drainLimit }) ?? true {
      note(.noneMatch)
    }
    if case .fault(.preconditionFailed, _) = reader.verdict { note(.match) }
    if head.status == 206 { return traits.contradict(.range) }
    guard let range = request.range, let object = reader.head, object.isWhole else { return }
    if range.start > 0 || range.end.map({ $0 < object.end }) ?? false { note(.range) }
  }
}
