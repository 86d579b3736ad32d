// The verdict on a body: what its digest proves, and what is asked again before damage is believed.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

/// What a store knows of the checksums at its endpoint. Safe to share.
final class S3Proof: Sendable {
  let tags: Evidence<EntityTag>
  /// Claims about parts, or without a type.
  let claims = Evidence<String>()
  let pieces = PieceSums()
  /// Keys whose last body was damaged: their next request goes over a connection of its own.
  private let suspects = Mutex<Set<ObjectKey>>([])
  /// Keys of which a body was damaged: what proves nothing of them is not believed unseen any more.
  private let damaged = Mutex<Set<ObjectKey>>([])
  /// Bodies that broke off, with the digests of what came.
  private let broken = Mutex<[ObjectKey: BrokenBody]>([:])
  private let capacity = 1000

  init(tagsArePromised: Bool, _ traits: ServerTraits) {
    tags = Evidence(isPromised: tagsArePromised) { traits.lacks(.digestTags) }
  }

  func suspect(_ key: ObjectKey) {
    func add(_ keys: inout Set<ObjectKey>) {
      if keys.count >= capacity { keys.removeAll() }
      keys.insert(key)
    }
    suspects.withLock { add(&$0) }
    damaged.withLock { add(&$0) }
  }

  func wasDamaged(_ key: ObjectKey) -> Bool { damaged.withLock { $0.contains(key) } }

  func takeSuspect(_ key: ObjectKey) -> Bool { suspects.withLock { !$0.isEmpty && $0.remove(key) != nil } }

  func keep(_ body: BrokenBody, of key: ObjectKey) {
    broken.withLock { broken in
      if broken.count >= capacity { broken.removeAll() }
      broken[key] = body
    }
  }

  /// What is asked for from `position` on may be the rest of a body that broke off there.
  func takeBroken(_ key: ObjectKey, at position: Int64) -> BrokenBody? {
    broken.withLock { broken in
      guard !broken.isEmpty, broken[key]?.position == position else { return nil }
      return broken.removeValue(forKey: key)
    }
  }
}

/// The beginning of a body that was to be proven at its end.
struct BrokenBody: Sendable {
  let revision: ObjectRevision
  let position: Int64
  let checksum: BodyChecksum
}

extension S3Store {
  /// Throws `checksumMismatch`, with what was expected and what came, unless the body may be believed.
  func verify(
    _ question: Question, _ object: ObjectHead, _ reader: ObjectReader, _ head: HTTPHead
  ) async throws(StoreError) {
    guard let checksum = reader.checksum else { return }
    // Of a body that broke off and its rest the digest is that of both.
    let object = reader.isResumed ? object.whole : object
    let (digest, agrees) = checksum.finish()
    if agrees, checksum.standing == .promised { return }
    if await isBelieved(question, object, checksum, digest, agrees) {
      if !agrees, !object.isWhole { try joined(question, object, checksum, digest, head) }
      return
    }
    throw damage(question, object, checksum, got: digest, head)
  }

  private func isBelieved(
    _ question: Question, _ object: ObjectHead, _ checksum: BodyChecksum, _ digest: [UInt8], _ agrees: Bool
  ) async -> Bool {
    let tag = object.revision.etag
    switch checksum.standing {
    case .promised: return agrees
    case .etag:
      guard let tag else { return agrees }
      let verdict = proof.tags.judge(tag, agrees: agrees)
      if agrees { traits.contradict(.digestTags) }
      guard verdict == .askAgain else { return verdict == .accept }
      guard let second = await secondOpinion(question, object) else { return false }
      let believed = proof.tags.settle(tag, first: digest, second: second.value, agrees: second.agrees) == .accept
      if believed { note(.digestTags) }
      return believed
    case .claimed:
      let claim = "\(question.subject) \(object.start) \(checksum.claim)"
      let verdict = proof.claims.judge(claim, agrees: agrees)
      // Two transfers that agree are all the proof there is for parts of what was damaged before.
      let isDoubted = !agrees && question.key.map { proof.wasDamaged($0) } ?? false
      guard verdict == .askAgain || isDoubted else { return verdict == .accept }
      guard let second = await secondOpinion(question, object) else { return false }
      return proof.claims.settle(claim, first: digest, second: second.value, agrees: second.agrees) == .accept
    }
  }

  /// The value was not the part's: perhaps it is the object's, and the parts join to it.
  private func joined(
    _ question: Question, _ object: ObjectHead, _ checksum: BodyChecksum, _ digest: [UInt8], _ head: HTTPHead
  ) throws(StoreError) {
    guard let algorithm = RedundancyCheck.Algorithm(rawValue: checksum.algorithm),
      head.text("x-amz-checksum-type") != "COMPOSITE"
    else { return }
    let claim = "\(question.subject) \(object.revision.etag.map { "\($0)" } ?? "") \(checksum.claim)"
    let verdict = proof.pieces.add(
      claim, algorithm, digest, of: object.start..<object.end, size: object.revision.size, expected: checksum.expected)
    switch verdict {
    case .open: break
    case .proven: log.debug("\(question.subject): its parts join to its \(checksum.claim)")
    case .damaged(let got): throw damage(question, object, checksum, got: got, head)
    case .meaningless:
      log.once(
        .notice, key: "part checksums", "\(site.endpoint.host) sends checksums that are neither parts' nor objects'")
    }
  }

  private func damage(
    _ question: Question, _ object: ObjectHead, _ checksum: BodyChecksum, got: [UInt8], _ head: HTTPHead
  ) -> StoreError {
    if let key = question.key { proof.suspect(key) }
    let bytes = object.isWhole ? "" : " \(object.start)-\(object.end - 1)"
    return question.fault(
      .checksumMismatch,
      "the bytes\(bytes) received are not those stored: \(checksum.algorithm) is \(base64(got)) and should be \(base64(checksum.expected))",
      head)
  }

  /// Gets the same bytes once more, on a connection of its own, for their digest alone: damage would not repeat itself.
  private func secondOpinion(_ question: Question, _ object: ObjectHead) async -> (value: [UInt8], agrees: Bool)? {
    guard let key = question.key else { return nil }
    if let allowance = Allowance.current {
      do throws(StoreError) { try await allowance.again() } catch { return nil }
    }
    var question = question
    question.isFresh = true
    question.headers.removeAll { ["Range", "If-None-Match", "If-Match"].contains($0.name) }
    var request = GetRequest(key: key, version: object.revision.version)
    if !object.isWhole {
      request.range = ByteRange(object.start, object.end)
      question.headers.append(HTTPField("Range", "bytes=\(object.start)-\(object.end - 1)"))
    }
    if let tag = object.revision.etag {
      request.condition = .ifMatch(tag)
      question.headers.append(HTTPField("If-Match", tag.field))
    }
    let reader = ObjectReader(request, DiscardingSink())
    guard (try? await ask(question, reader: reader)) != nil, let second = reader.head, second.start == object.start,
      second.end == object.end, second.revision == object.revision, reader.received == second.end - second.start
    else { return nil }
    return reader.checksum?.finish()
  }
}

extension ObjectHead {
  /// That of all bytes.
  fileprivate var whole: ObjectHead { ObjectHead(metadata: metadata, start: 0, end: revision.size) }
}

private final class DiscardingSink: ObjectSink {
  func begin(_ head: ObjectHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { true }
}
