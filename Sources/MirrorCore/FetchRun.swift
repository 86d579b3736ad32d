// One ranged GET into a blob.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

/// Fetches a run of blocks; readers are answered as their bytes land, and a cut body is resumed where it ended.
final class FetchRun: ObjectSink {
  static let largestAttempts = 3

  private struct State {
    /// Where the next byte of the body belongs.
    var position: Int64 = 0
    var mismatch = false
    /// A body's end is to tell whether what came is right.
    var isHeld = false
    /// The end of the body that comes now tells it.
    var isProof = false
    var failure: Errno?
    /// When the request was sent, where its answer tells what is current.
    var asked: Instant?
    var begun: Instant?
  }

  let file: MirroredFile
  let range: Range<Int64>
  let blob: Blob
  /// Who fetches it ahead; nil: a reader waits.
  let errand: Errand?
  private let writer: BlobWriter
  private let state = Mutex(State())

  init(file: MirroredFile, blob: Blob, range: Range<Int64>, errand: Errand? = nil) {
    self.file = file
    self.blob = blob
    self.range = range
    self.errand = errand
    writer = blob.writer(at: range.lowerBound, upTo: range.upperBound)
  }

  func perform() async {
    guard await makeRoom() else {
      writer.finish()
      return file.lostRoom(self)
    }
    await transfer(attempt: 1)
  }

  /// Asks for what is missing of it, from that attempt on.
  private func transfer(attempt: Int) async {
    var attempt = attempt
    while true {
      let start = writer.position
      let version = file.askedVersion
      state.withLock {
        let now = file.sources.clock.now()
        $0.asked = version == nil || file.sources.versions.always ? now : nil
        $0.begun = $0.begun ?? now
        $0.mismatch = false
      }
      do throws(StoreError) {
        let outcome = try await file.sources.store.get(
          GetRequest(
            key: file.key, version: version,
            range: start == 0 && range.upperBound >= file.revision.size ? nil : ByteRange(start, range.upperBound),
            condition: version == nil ? file.revision.condition : .none,
            deadline: file.sources.clock.now() + BucketMirror.deadline,
            purpose: errand == nil ? .content : .ahead), into: self)
        if version == nil, state.withLock({ $0.mismatch }), await file.turnsToVersion() { continue }
        return end(outcome)
      } catch {
        if version == nil, error.meansGone, await file.turnsToVersion() { continue }
        if version != nil, file.sources.versions.isRefusal(error) {
          state.withLock { $0.mismatch = true }
          return end(.ended)
        }
        errand?.note(error)
        guard let next = nextAttempt(after: attempt, error, from: start) else { return end(error) }
        attempt = next
      }
    }
  }

  /// Which attempt comes after one that failed, if any does.
  private func nextAttempt(after attempt: Int, _ error: StoreError, from start: Int64) -> Int? {
    // A block is progress; a few bytes at the price of a request are not.
    if error.isRetryable, writer.position - start >= Blob.blockSize { return 1 }
    guard error.isRetryable, error.code == .interrupted, attempt < Self.largestAttempts else { return nil }
    return attempt + 1
  }

  /// Room within the cache's limit. Unused inodes that the kernel still knows keep blobs in place; asked to forget
  /// them it does so within milliseconds, which is worth a short wait before the read goes past the cache.
  private func makeRoom() async -> Bool {
    let bytes = Int64(range.count)
    if file.sources.cache.reserve(bytes) { return true }
    for pause in [10, 20, 40, 0] {
      let (made, inUse) = await file.sources.cache.makeRoom(bytes)
      if made { return true }
      guard !inUse.isEmpty, pause > 0 else { return false }
      file.owner?.askToForget(inUse)
      await file.sources.pause(.milliseconds(pause))
    }
    return false
  }

  /// The transfer that a look-up began is over.
  func ended(_ outcome: GetOutcome) { end(outcome) }

  /// That transfer broke off: whoever waits for what is missing is served as by any other.
  func brokeOff(_ error: StoreError) {
    guard file.isAwaited(range), let attempt = nextAttempt(after: 1, error, from: range.lowerBound) else {
      return end(error)
    }
    Task { await transfer(attempt: attempt) }
  }

  private func end(_ outcome: GetOutcome) {
    if case .delivered = outcome { end(nil, isDelivered: true) } else { end(nil) }
  }

  /// The body is over; what it lacks is asked for again by whoever reads it.
  private func end(_ error: StoreError?, isDelivered: Bool = false) {
    file.sources.cache.giveBack(Int64(range.count) - writer.finish())
    if error?.code == .checksumMismatch { return file.corrupted(self, error) }
    let (mismatch, failure, isHeld, isProof) = state.withLock { ($0.mismatch, $0.failure, $0.isHeld, $0.isProof) }
    let isUnprovable = isHeld && !(isDelivered && isProof)
    if isHeld { if isUnprovable { blob.unprovable(range) } else { blob.proven(range) } }
    if failure != nil {
      file.lostRoom(self)
    } else if mismatch || error?.meansGone == true {
      file.ended(self, .stale, gone: true)
    } else if isUnprovable, error == nil {
      file.startOver(self)
    } else {
      if let error, error.code != .cancelled, errand?.wait == nil {
        file.sources.log.limited(.warning, key: "read \(error.code)", "reading failed: \(error)")
      }
      // A busy origin was asked for as long as may be.
      let waited = state.withLock { $0.begun }.map { file.sources.clock.now() - $0 } ?? .zero
      if error?.code == .timeout || error != nil && waited > BucketMirror.patience {
        file.noteUnanswered((isUnprovable ? range.lowerBound : writer.position)..<range.upperBound)
      }
      let isLacking = isUnprovable || writer.position < range.upperBound
      file.ended(self, isLacking ? error?.errno ?? .inputOutput : nil, gone: false)
    }
  }

  func begin(_ head: ObjectHead) -> Bool {
    let matches = file.matches(head.revision)
    // Of all that this run brings, and seen to its end.
    let isProof = head.provenFrom.map { $0 <= range.lowerBound && head.end <= range.upperBound } ?? false
    let (asked, isHeld, isNew) = state.withLock { state in
      state.position = head.start
      state.mismatch = !matches
      state.isProof = isProof
      // What was shown already is not held back any more.
      let isNew = matches && isProof && !state.isHeld && writer.position == range.lowerBound
      if isNew { state.isHeld = true }
      return (state.asked, state.isHeld, isNew)
    }
    guard matches else { return false }
    file.noteVersion(head.revision.version)
    if let asked { file.owner?.fileTold(file, head.metadata, asked: asked) }
    if isNew { blob.expectProof(of: range) }
    file.bodyBegins()
    // The rest without proof would leave what came before without it.
    return head.start <= writer.position && (isProof || !isHeld)
  }

  /// Until its end nobody is shown any of it.
  var isHeld: Bool { state.withLock { $0.isHeld } }

  func receive(_ bytes: RawSpan) -> Bool {
    let position = state.withLock { state in
      defer { state.position += Int64(bytes.byteCount) }
      return state.position
    }
    // A server that ignores Range sends the whole: skip what was not asked for.
    let skip = Int(max(0, min(Int64(bytes.byteCount), writer.position - position)))
    let keep = Int(max(0, min(Int64(bytes.byteCount - skip), range.upperBound - writer.position)))
    if keep > 0 {
      do throws(Errno) {
        try writer.write(bytes.extracting(skip..<(skip + keep)))
      } catch {
        state.withLock { $0.failure = error }
        return false
      }
      file.deliver()
    }
    return writer.position < range.upperBound || position + Int64(bytes.byteCount) == range.upperBound
  }
}

/// Collects a small body in memory, if it is of the revision expected.
final class BufferSink: ObjectSink {
  private let revision: ObjectRevision
  private let range: Range<Int64>
  private struct State {
    var bytes: [UInt8] = []
    var position: Int64 = 0
    /// Of the answer, if it was of the revision.
    var metadata: ObjectMetadata?
  }
  private let state = Mutex(State())

  init(expecting revision: ObjectRevision, _ range: Range<Int64>) {
    self.revision = revision
    self.range = range
  }

  /// The range, whole; nil when another revision answered.
  var bytes: [UInt8]? { state.withLock { $0.metadata != nil && $0.bytes.count == range.count ? $0.bytes : nil } }
  var metadata: ObjectMetadata? { state.withLock { $0.metadata } }

  func begin(_ head: ObjectHead) -> Bool {
    let matches = head.revision.sameBytes(as: revision) && head.start <= range.lowerBound
    state.withLock {
      $0 = State(position: head.start, metadata: matches ? head.metadata : nil)
    }
    return matches
  }

  func receive(_ bytes: RawSpan) -> Bool {
    state.withLock { state in
      let skip = Int(max(0, min(Int64(bytes.byteCount), range.lowerBound + Int64(state.bytes.count) - state.position)))
      let keep = min(bytes.byteCount - skip, range.count - state.bytes.count)
      if keep > 0 { state.bytes.append(contentsOf: bytes.extracting(skip..<(skip + keep))) }
      state.position += Int64(bytes.byteCount)
      return state.bytes.count < range.count || state.position == range.upperBound
    }
  }
}
