// The bytes of one revision on their way from the origin to readers, through its blob.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

/// One revision's content: answers reads from the blob, and fetches what is missing. There is one for all who use the
/// revision, or they would wait for bytes that another has asked for.
final class MirroredFile: Sendable {
  static let largestParallelism = 8
  /// How long reads go past the cache before room is looked for again.
  static let roomPause = Duration.seconds(1)

  typealias Reply = @Sendable (ReadAnswer) -> Void

  struct Waiting {
    let range: Range<Int64>
    let reply: Reply
    /// Who fetches it ahead: where there is no room for it in the cache it is of no use.
    var errand: Errand?
  }

  struct State {
    /// Its name's place; that of its former name, once it was replaced.
    var id: FileID
    enum Store { case unknown, opening, ready, none }
    var store = Store.unknown
    var blob: Blob?
    /// While there is no room, reads go straight through; when to look for room again.
    var tryAgain = Instant.distantPast
    var waiting: [Waiting] = []
    var runs: [ObjectIdentifier: FetchRun] = [:]
    var readAhead = ReadAheadPolicy()
    var wanted: [Range<Int64>] = []
    var isGone = false
    /// The id of the revision's version, once an answer named it.
    var version: String?
    /// Looks for it where none has.
    var search: Task<String?, Never>?
    /// Another revision is current by now.
    var isReplaced = false
    var isRetired = false
    /// The kernel forgot it while some of it was on its way.
    var isForgotten = false
    /// How often it had to be asked for once more, since what came was damaged or nothing would prove it.
    var corruptions = 0
    var isFetched = false
    /// Until when a denial is answered again without asking: what a read-ahead was denied the kernel asks for once more.
    var deniedUntil = Instant.distantPast
    /// The same for what nobody answered in time: no reader waits for it twice.
    var unanswered: (range: Range<Int64>, until: Instant)?

    func isReadable(_ range: Range<Int64>) -> Bool { blob?.isReadable(range) ?? false }
  }

  let key: ObjectKey
  let revision: ObjectRevision
  let sources: FileSources
  weak let owner: (any FileOwner)?
  let state: Mutex<State>
  /// An answer said that it is gone or replaced; to be looked at with each read.
  let wasGone = Atomic<Bool>(false)

  init(id: FileID, key: ObjectKey, revision: ObjectRevision, sources: FileSources, owner: any FileOwner) {
    self.owner = owner
    self.key = key
    self.revision = revision
    self.sources = sources
    state = Mutex(State(id: id, version: revision.version))
  }

  deinit { state.withLock { $0.blob }?.release() }

  /// It comes by one request: it is small, nothing would tell parts of two revisions from each other, or the server has
  /// no parts.
  var isWholeOnly: Bool {
    revision.size <= sources.partSize || !revision.isIdentified || sources.traits.lacks(.range)
  }

  /// Whether an answer is of this revision, as far as anything tells.
  func matches(_ seen: ObjectRevision) -> Bool {
    seen.sameBytes(as: revision) || !revision.isIdentified && !seen.isIdentified && seen.size == revision.size
  }

  var id: FileID { state.withLock { $0.id } }
  /// The kernel forgot it. While some of it is on its way it stays, and its owner is told of the end.
  func mayBeLetGo() -> Bool {
    state.withLock { state in
      state.isForgotten = !state.runs.isEmpty || !state.waiting.isEmpty
      return !state.isForgotten
    }
  }
  var isComplete: Bool { state.withLock { $0.blob?.isComplete ?? false } }
  var metadata: ObjectMetadata? { state.withLock { $0.blob?.metadata } }

  /// READ: answers in place what is here; else when it has come.
  func read(_ offset: Int64, _ count: Int, reply: @escaping Reply) {
    let range = offset..<max(offset, min(revision.size, offset + Int64(count)))
    guard !range.isEmpty else { return reply(.bytes([])) }
    enum Step {
      case answer(Blob)
      case answerAndAdvance(Blob)
      case wait
      case gone
      case denied
      case unanswered
    }
    let step = state.withLock { state -> Step in
      let wanted = state.readAhead.wanted(
        range.lowerBound, range.upperBound, size: revision.size,
        wholeBelow: isWholeOnly ? revision.size : sources.partSize)
      guard state.store == .ready, let blob = state.blob, state.isReadable(range) else {
        // What was not fetched of a revision that is gone can't be had any more.
        if state.isGone { return .gone }
        if sources.clock.now() < state.deniedUntil { return .denied }
        if let unanswered = state.unanswered, unanswered.range.overlaps(range), sources.clock.now() < unanswered.until {
          return .unanswered
        }
        state.waiting.append(Waiting(range: range, reply: reply))
        state.wanted.append(wanted)
        return .wait
      }
      if blob.isComplete || state.isGone { return .answer(blob) }
      state.wanted.append(wanted)
      return .answerAndAdvance(blob)
    }
    switch step {
    case .answer(let blob): answer(range, from: blob, reply)
    case .answerAndAdvance(let blob):
      answer(range, from: blob, reply)
      advance()
    case .wait: advance()
    case .gone: reply(.failed(.stale))
    case .denied: reply(.failed(.accessDenied))
    case .unanswered: reply(.failed(.inputOutput))
    }
  }

  /// Brings a range into the cache; nil once it is there.
  func bring(_ range: Range<Int64>) async -> Errno? {
    await withCheckedContinuation { (continuation: CheckedContinuation<Errno?, Never>) in
      let reply: Reply = { answer in
        if case .failed(let errno) = answer { return continuation.resume(returning: errno) }
        continuation.resume(returning: nil)
      }
      enum Step { case here, gone, wait }
      let step = state.withLock { state -> Step in
        if state.store == .ready, state.isReadable(range) { return .here }
        if state.isGone { return .gone }
        state.waiting.append(Waiting(range: range, reply: reply, errand: Errand.current ?? Errand()))
        return .wait
      }
      switch step {
      case .here: continuation.resume(returning: nil)
      case .gone: continuation.resume(returning: .stale)
      case .wait: advance()
      }
    }
  }

  func answer(_ range: Range<Int64>, from blob: Blob, _ reply: Reply) {
    do throws(Errno) {
      reply(.extent(try blob.file(), offset: range.lowerBound, count: range.count))
    } catch {
      sources.log.limited(.error, key: "blob", "cached content of \(key) can't be opened: \(error)")
      reply(.failed(.inputOutput))
    }
  }

  /// Answers the reads whose bytes are here by now; from any thread.
  func deliver() {
    let (ripe, blob) = state.withLock { state -> ([Waiting], Blob?) in
      guard let blob = state.blob, !state.waiting.isEmpty else { return ([], nil) }
      // Each is looked at once: bytes land meanwhile.
      var (ripe, left): ([Waiting], [Waiting]) = ([], [])
      for read in state.waiting {
        if state.isReadable(read.range) { ripe.append(read) } else { left.append(read) }
      }
      state.waiting = left
      return (ripe, blob)
    }
    guard let blob else { return }
    for read in ripe { sources.replies.submit { self.answer(read.range, from: blob, read.reply) } }
  }

  /// It is current after all: the origin said so after it had said that it was gone.
  func revive() {
    state.withLock { state in
      state.isGone = false
      state.isReplaced = false
    }
    wasGone.store(false, ordering: .relaxed)
  }

  /// Its name leads to another revision, or to none; `letCopyGo` is to follow.
  func supersede() {
    state.withLock { state in
      state.isReplaced = true
      state.isRetired = true
    }
  }

  /// Its name, which may have another place by now, leads to it again.
  func restore(as id: FileID) {
    state.withLock { state in
      state.id = id
      state.isRetired = false
    }
    revive()
    Task {
      // Handed out, a copy is no longer one to let go.
      if !state.withLock({ $0.isRetired }) { _ = await sources.cache.blob(key, revision) }
      if isComplete { owner?.fileComplete(self) }
    }
  }

  /// It may not be kept: its bytes go when nobody uses them.
  func retire() {
    state.withLock { $0.isRetired = true }
    letCopyGo()
  }

  func letCopyGo() {
    if let blob = state.withLock({ $0.isRetired ? $0.blob : nil }) { sources.cache.retire(blob) }
  }
}
