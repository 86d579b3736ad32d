// The bytes of one revision on their way from the origin to readers, through its blob.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

/// What files share: where bytes come from and go to.
final class FileSources: Sendable {
  let store: any ObjectStore
  let cache: Cache
  let log: Log
  let clock: any Clock
  let partSize: Int64
  /// Answers readers away from the transfer thread.
  let replies = WorkQueue(name: "reply", threads: 2)

  init(store: any ObjectStore, cache: Cache, log: Log, clock: any Clock, partSize: Int64) {
    self.store = store
    self.cache = cache
    self.log = log
    self.clock = clock
    self.partSize = partSize
  }
}

/// Whom a file tells what happens to it.
protocol FileOwner: AnyObject, Sendable {
  /// The revision is gone from the bucket: its name must be asked for again.
  func revisionGone(_ file: MirroredFile)
  /// The first of its bytes come from the origin.
  func fileFetched(_ file: MirroredFile)
  /// Every byte is here.
  func fileComplete(_ file: MirroredFile)
  /// These keys' unused inodes stand in the way of room.
  func askToForget(_ keys: [ObjectKey])
}

/// One revision's content: answers reads from the blob, and fetches what is missing.
final class MirroredFile: Sendable {
  static let largestParallelism = 8

  typealias Reply = @Sendable (ReadAnswer) -> Void

  struct Waiting {
    let range: Range<Int64>
    let reply: Reply
  }

  struct State {
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
    var isRetired = false
    /// The run whose body is checked at its end: until then its bytes are not shown.
    var held: ObjectIdentifier?
    var corruptions = 0
    var isFetched = false

    func isReadable(_ range: Range<Int64>) -> Bool { held == nil && blob?.isReadable(range) ?? false }
  }

  let id: FileID
  let key: ObjectKey
  let revision: ObjectRevision
  let sources: FileSources
  weak let owner: (any FileOwner)?
  let state = Mutex(State())

  init(id: FileID, key: ObjectKey, revision: ObjectRevision, sources: FileSources, owner: any FileOwner) {
    self.owner = owner
    self.id = id
    self.key = key
    self.revision = revision
    self.sources = sources
  }

  deinit { state.withLock { $0.blob }?.release() }

  var isIdle: Bool { state.withLock { $0.runs.isEmpty && $0.waiting.isEmpty } }
  var isComplete: Bool { state.withLock { $0.blob?.isComplete ?? false } }
  var metadata: ObjectMetadata? { state.withLock { $0.blob?.metadata } }

  /// READ: answers in place what is here; else when it has come.
  func read(_ offset: Int64, _ count: Int, reply: @escaping Reply) {
    let range = offset..<max(offset, min(revision.size, offset + Int64(count)))
    guard !range.isEmpty else { return reply(.bytes([])) }
    let ready = state.withLock { state -> (blob: Blob, idle: Bool)? in
      let wanted = state.readAhead.wanted(
        range.lowerBound, range.upperBound, size: revision.size, wholeBelow: sources.partSize)
      guard state.store == .ready, let blob = state.blob, state.isReadable(range) else {
        state.waiting.append(Waiting(range: range, reply: reply))
        state.wanted.append(wanted)
        return nil
      }
      if !blob.isComplete { state.wanted.append(wanted) }
      return (blob, state.wanted.isEmpty)
    }
    if let ready { answer(range, from: ready.blob, reply) }
    if ready?.idle != true { advance() }
  }

  func answer(_ range: Range<Int64>, from blob: Blob, _ reply: Reply) {
    do throws(Errno) {
      reply(.extent(try blob.file(), offset: range.lowerBound, count: range.count))
    } catch {
      sources.log.limited(.error, key: "blob", "cached content of \(key) can't be opened: \(error)")
      reply(.failed(.inputOutput))
    }
  }

  /// Starts what is wanted and not under way.
  func advance() {
    enum Step { case open, run([FetchRun]), through([Waiting]), none }
    let step = state.withLock { state -> Step in
      switch state.store {
      case .unknown:
        state.store = .opening
        return .open
      case .opening: return .none
      case .none:
        if sources.clock.now() >= state.tryAgain {
          state.store = .opening
          return .open
        }
        state.wanted = []
        defer { state.waiting = [] }
        return .through(state.waiting)
      case .ready: return .run(plan(&state))
      }
    }
    switch step {
    case .open: Task { await openBlob() }
    case .run(let runs): for run in runs { Task { await run.perform() } }
    case .through(let waiting): for read in waiting { Task { await readThrough(read) } }
    case .none: break
    }
  }

  /// The runs to start now: what readers wait for first, then read-ahead in worthwhile pieces.
  private func plan(_ state: inout State) -> [FetchRun] {
    guard let blob = state.blob, !state.isGone else { return [] }
    var runs: [FetchRun] = []
    func add(_ wanted: Range<Int64>, needed: Bool) {
      var from = wanted.lowerBound
      while state.runs.count < Self.largestParallelism,
        let missing = blob.missing(from: from, limit: part(of: wanted)), missing.lowerBound < wanted.upperBound
      {
        let end =
          revision.size <= sources.partSize ? missing.upperBound : min(missing.upperBound, align(wanted.upperBound))
        // A sliver at the window's edge waits until it is worth a request.
        if !needed, end < revision.size, end - missing.lowerBound < ReadAheadPolicy.smallestPart { return }
        let run = FetchRun(file: self, blob: blob, range: missing.lowerBound..<max(end, missing.lowerBound + 1))
        state.runs[ObjectIdentifier(run)] = run
        runs.append(run)
        from = end
      }
    }
    for read in state.waiting where !blob.isReadable(read.range) { add(read.range, needed: true) }
    for wanted in state.wanted { add(wanted, needed: false) }
    state.wanted = []
    return runs
  }

  private func part(of wanted: Range<Int64>) -> Int64 {
    revision.size <= sources.partSize
      ? revision.size : ReadAheadPolicy.part(of: Int64(wanted.count), partSize: sources.partSize)
  }

  private func align(_ offset: Int64) -> Int64 {
    min(revision.size, (offset + Blob.blockSize - 1) / Blob.blockSize * Blob.blockSize)
  }

  /// Finds or makes the blob.
  private func openBlob() async {
    var blob = await sources.cache.blob(key, revision)
    if blob == nil, revision.size <= sources.cache.usage().limit {
      blob = try? sources.cache.makeBlob(key, ObjectMetadata(revision: revision))
    }
    adopt(blob)
    if blob?.isComplete == true { owner?.fileComplete(self) }
  }

  /// The blob that bytes go to; nil: there is no room, reads go straight through for a while.
  func adopt(_ blob: Blob?) {
    blob?.retain()
    let isRetired = state.withLock { state in
      state.blob = blob
      state.store = blob == nil ? .none : .ready
      if blob == nil { state.tryAgain = sources.clock.now() + .seconds(5) }
      return state.isRetired
    }
    if isRetired, let blob { sources.cache.retire(blob) }
    if blob == nil {
      sources.log.limited(.warning, key: "room", "no room in the cache for \(key): read straight from the origin")
    } else {
      blob?.touch()
    }
    deliver()
    advance()
  }

  /// Gives up on the blob: its room is gone.
  func loseRoom() {
    let blob = state.withLock { state -> Blob? in
      state.store = .none
      state.tryAgain = sources.clock.now() + .seconds(5)
      defer { state.blob = nil }
      return state.blob
    }
    blob?.release()
    sources.log.limited(.warning, key: "room", "no room in the cache for \(key): read straight from the origin")
    advance()
  }

  /// Answers the reads whose bytes are here by now; from any thread.
  func deliver() {
    let (ripe, blob) = state.withLock { state -> ([Waiting], Blob?) in
      guard let blob = state.blob, !state.waiting.isEmpty else { return ([], nil) }
      let ripe = state.waiting.filter { state.isReadable($0.range) }
      if !ripe.isEmpty { state.waiting.removeAll { read in ripe.contains { $0.range == read.range } } }
      return (ripe, blob)
    }
    guard let blob else { return }
    for read in ripe { sources.replies.submit { self.answer(read.range, from: blob, read.reply) } }
  }

  /// A run ended; what it failed to bring fails the reads that need it.
  func ended(_ run: FetchRun, _ failure: Errno?, gone: Bool) {
    state.withLock { if $0.held == ObjectIdentifier(run) { $0.held = nil } }
    deliver()
    let failed = state.withLock { state -> [Waiting] in
      state.runs[ObjectIdentifier(run)] = nil
      if gone { state.isGone = true }
      if failure == nil { return [] }
      let failed = state.waiting.filter { gone || $0.range.overlaps(run.range) }
      state.waiting.removeAll { gone || $0.range.overlaps(run.range) }
      return failed
    }
    for read in failed { read.reply(.failed(failure ?? .inputOutput)) }
    if gone { owner?.revisionGone(self) }
    if isComplete { owner?.fileComplete(self) }
    advance()
  }

  /// Bytes come; a held body is shown only when its end proves it right.
  func bodyBegins(_ run: FetchRun, isHeld: Bool) {
    let isFirst = state.withLock { state in
      if isHeld { state.held = ObjectIdentifier(run) }
      defer { state.isFetched = true }
      return !state.isFetched
    }
    if isFirst { owner?.fileFetched(self) }
  }

  /// The body was not what its checksum says: it is thrown away, and asked for once more.
  func corrupted(_ run: FetchRun, _ error: StoreError?) {
    sources.log.error("a corrupted body was thrown away: \(error.map { "\($0)" } ?? "\(key)")")
    let (blob, failed) = state.withLock { state -> (Blob?, [Waiting]) in
      state.runs[ObjectIdentifier(run)] = nil
      state.held = nil
      state.store = .unknown
      state.corruptions += 1
      defer {
        state.blob = nil
        if state.corruptions > 1 { state.waiting = [] }
      }
      return (state.blob, state.corruptions > 1 ? state.waiting : [])
    }
    if let blob {
      sources.cache.retire(blob)
      blob.release()
    }
    for read in failed { read.reply(.failed(.inputOutput)) }
    advance()
  }

  /// Takes the body of an answer that a validation brought; nil when it has nowhere to go or is not needed.
  func fill(from head: ObjectHead) -> FetchRun? {
    let length = head.end - head.start
    guard length > 0, head.start % Blob.blockSize == 0, state.withLock({ $0.store == .unknown }),
      sources.cache.reserve(length)
    else { return nil }
    guard let blob = try? sources.cache.makeBlob(key, head.metadata) else {
      sources.cache.giveBack(length)
      return nil
    }
    blob.retain()
    let run = FetchRun(file: self, blob: blob, range: head.start..<head.end)
    let taken = state.withLock { state in
      guard state.store == .unknown else { return false }
      state.store = .ready
      state.blob = blob
      state.runs[ObjectIdentifier(run)] = run
      return true
    }
    guard taken, run.begin(head) else {
      sources.cache.retire(blob)
      blob.release()
      return nil
    }
    return run
  }

  /// The revision is no longer current: its bytes go when nobody uses them.
  func retire() {
    let blob = state.withLock { state -> Blob? in
      state.isRetired = true
      return state.blob
    }
    if let blob { sources.cache.retire(blob) }
  }

  /// One read without the cache.
  private func readThrough(_ read: Waiting) async {
    let buffer = BufferSink(expecting: revision, read.range)
    do throws(StoreError) {
      _ = try await sources.store.get(
        GetRequest(
          key: key, range: ByteRange(read.range.lowerBound, read.range.upperBound),
          condition: revision.condition, deadline: sources.clock.now() + BucketMirror.deadline), into: buffer)
      if let bytes = buffer.bytes { return read.reply(.bytes(bytes)) }
      read.reply(.failed(.stale))
      owner?.revisionGone(self)
    } catch {
      let gone = error.meansGone
      read.reply(.failed(gone ? .stale : error.errno))
      if gone { owner?.revisionGone(self) }
    }
  }
}

extension ObjectRevision {
  /// Later requests must meet the same revision.
  var condition: Condition {
    guard let etag, !etag.isWeak, !etag.bytes.isEmpty else { return .none }
    return .ifMatch(etag)
  }
}

extension StoreError {
  /// The revision asked for is no longer there.
  var meansGone: Bool { code == .preconditionFailed || code == .notFound || code == .rangeNotSatisfiable }
}
