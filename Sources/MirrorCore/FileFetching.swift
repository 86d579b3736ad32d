// What a file fetches next: what readers wait for, then what they will read, or nothing where there is no room.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

extension MirroredFile {
  /// Starts what is wanted and not under way.
  func advance() {
    enum Step { case open, run([FetchRun], through: [Waiting]), through([Waiting]), none }
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
      case .ready: return .run(plan(&state), through: takeUnserved(&state))
      }
    }
    switch step {
    case .open: Task { await openBlob() }
    case .run(let runs, let waiting):
      for run in runs { Task { await run.perform() } }
      goThrough(waiting)
      // What another file's run brought meanwhile.
      deliver()
    case .through(let waiting): goThrough(waiting)
    case .none: break
    }
  }

  private func goThrough(_ waiting: [Waiting]) {
    for read in waiting {
      if read.errand != nil { read.reply(.failed(.noSpace)) } else { Task { await readThrough(read) } }
    }
  }

  /// The reads that no run of this file will serve: what they lack is on its way for a file that has lost its name, or
  /// is here and can't be checked for want of descriptors.
  private func takeUnserved(_ state: inout State) -> [Waiting] {
    guard state.runs.count < Self.largestParallelism, !state.isGone else { return [] }
    var (left, unserved): ([Waiting], [Waiting]) = ([], [])
    for read in state.waiting {
      let isServed = state.runs.values.contains { $0.range.overlaps(read.range) } || state.isReadable(read.range)
      if isServed { left.append(read) } else { unserved.append(read) }
    }
    state.waiting = left
    return unserved
  }

  /// The runs to start now: what readers wait for first, then read-ahead in worthwhile pieces.
  func plan(_ state: inout State) -> [FetchRun] {
    guard let blob = state.blob, !state.isGone else { return [] }
    var runs: [FetchRun] = []
    func add(_ wanted: Range<Int64>, needed: Bool, part: Int64, _ errand: Errand? = nil) {
      var from = wanted.lowerBound
      while state.runs.count < Self.largestParallelism,
        let missing = blob.missing(from: from, limit: part), missing.lowerBound < wanted.upperBound
      {
        let edge = align(wanted.upperBound)
        let end = isWholeOnly ? missing.upperBound : min(missing.upperBound, edge)
        // What the window's edge would cut off waits until it is worth a request.
        if !needed, missing.upperBound > edge { return }
        let range = missing.lowerBound..<max(end, missing.lowerBound + 1)
        let run = FetchRun(file: self, blob: blob, range: range, errand: errand)
        state.runs[ObjectIdentifier(run)] = run
        runs.append(run)
        from = end
      }
    }
    for read in state.waiting where !blob.isReadable(read.range) {
      // Nobody waits for the first bytes of what is fetched ahead: as few requests as may be.
      let isAhead = read.errand != nil
      add(
        read.range, needed: true, part: isAhead && !isWholeOnly ? sources.partSize : part(of: read.range), read.errand)
    }
    for wanted in state.wanted { add(wanted, needed: false, part: part(of: wanted)) }
    state.wanted = []
    return runs
  }

  func part(of wanted: Range<Int64>) -> Int64 {
    isWholeOnly
      ? revision.size : ReadAheadPolicy.part(of: Int64(wanted.count), partSize: sources.partSize)
  }

  func align(_ offset: Int64) -> Int64 {
    min(revision.size, (offset + Blob.blockSize - 1) / Blob.blockSize * Blob.blockSize)
  }

  /// Finds or makes the blob.
  func openBlob() async {
    var blob = await sources.cache.blob(key, revision)
    if blob == nil { blob = await sources.cache.adopt(key, revision) }
    if blob == nil, revision.size <= sources.cache.usage().limit {
      var known = revision
      known.version = version
      blob = try? sources.cache.makeBlob(key, ObjectMetadata(revision: known))
    }
    adopt(blob)
    if blob?.isComplete == true { owner?.fileComplete(self) }
  }

  /// The blob that bytes go to; nil: there is no room, reads go straight through for a while.
  func adopt(_ found: Blob?) {
    // Nil too where it was evicted in between.
    let blob = found.flatMap { $0.retain() ? $0 : nil }
    let isRetired = state.withLock { state in
      state.blob = blob
      state.store = blob == nil ? .none : .ready
      if blob == nil { state.tryAgain = sources.clock.now() + Self.roomPause }
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
      state.tryAgain = sources.clock.now() + Self.roomPause
      defer { state.blob = nil }
      return state.blob
    }
    blob?.release()
    sources.log.limited(.warning, key: "room", "no room in the cache for \(key): read straight from the origin")
    advance()
  }

  /// One read without the cache; a damaged answer is asked for once more.
  func readThrough(_ read: Waiting, isAgain: Bool = false) async {
    let version = askedVersion
    let buffer = BufferSink(expecting: revision, read.range)
    let asked = sources.clock.now()
    do throws(StoreError) {
      _ = try await sources.store.get(
        GetRequest(
          key: key, version: version, range: ByteRange(read.range.lowerBound, read.range.upperBound),
          condition: version == nil ? revision.condition : .none, deadline: asked + BucketMirror.deadline),
        into: buffer)
      if let bytes = buffer.bytes, let metadata = buffer.metadata {
        noteVersion(metadata.revision.version)
        if version == nil { owner?.fileTold(self, metadata, asked: asked) }
        return read.reply(.bytes(bytes))
      }
      if version == nil, await turnsToVersion() { return await readThrough(read, isAgain: isAgain) }
      read.reply(.failed(.stale))
      owner?.revisionGone(self)
    } catch {
      if error.code == .checksumMismatch {
        sources.log.error("a corrupted body was thrown away: \(error)")
        if !isAgain { return await readThrough(read, isAgain: true) }
      }
      if version == nil, error.meansGone, await turnsToVersion() { return await readThrough(read, isAgain: isAgain) }
      let gone = error.meansGone || version != nil && sources.versions.isRefusal(error)
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
