// How the runs of a file begin and end: bytes shown, held back, thrown away or missing.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

extension MirroredFile {
  /// Takes the body of an answer that a validation brought; nil when it has nowhere to go or is not needed.
  func fill(from head: ObjectHead) -> FetchRun? {
    let length = head.end - head.start
    guard length > 0, head.start % Blob.blockSize == 0, length >= Blob.blockSize || head.end == revision.size,
      matches(head.revision), revision.isIdentified || head.isWhole,
      state.withLock({ $0.store == .unknown })
    else { return nil }
    guard sources.cache.reserve(length) else {
      // Too late for this body, which can't wait; the next finds room.
      Task { [cache = sources.cache] in if await cache.makeRoom(length).made { cache.giveBack(length) } }
      return nil
    }
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
      sources.cache.giveBack(length)
      sources.cache.retire(blob)
      blob.release()
      return nil
    }
    if state.withLock({ $0.isRetired }) { sources.cache.retire(blob) }
    return run
  }

  func bodyBegins() {
    let isFirst = state.withLock { state in
      defer { state.isFetched = true }
      return !state.isFetched
    }
    if isFirst { owner?.fileFetched(self) }
  }

  /// A run ended; what it failed to bring fails the reads that need it.
  func ended(_ run: FetchRun, _ failure: Errno?, gone: Bool) {
    deliver()
    let failed = state.withLock { state -> [Waiting] in
      state.runs[ObjectIdentifier(run)] = nil
      if gone {
        state.isGone = true
        wasGone.store(true, ordering: .relaxed)
      }
      if failure == .accessDenied { state.deniedUntil = sources.clock.now() + Namespace.grace }
      if failure == nil { return [] }
      // What is fetched ahead may be refused money that a reader, who came in the meantime, is given.
      func fails(_ read: Waiting) -> Bool {
        gone || read.range.overlaps(run.range) && (run.errand == nil || read.errand != nil)
      }
      let failed = state.waiting.filter(fails)
      state.waiting.removeAll(where: fails)
      return failed
    }
    for read in failed { read.reply(.failed(failure ?? .inputOutput)) }
    if gone { owner?.revisionGone(self) }
    if isComplete { owner?.fileComplete(self) }
    advance()
    letGo()
  }

  /// What the kernel forgot while some of it was on its way is let go with the last of that.
  private func letGo() {
    if state.withLock({ $0.isForgotten && $0.runs.isEmpty && $0.waiting.isEmpty }) { owner?.fileUnused(self) }
  }

  /// A run has no room for what it was to bring: the blob is given up before anybody asks for more of it.
  func lostRoom(_ run: FetchRun) {
    loseRoom()
    ended(run, nil, gone: false)
  }

  /// Nothing would prove what a run brought: it is asked for once more from the beginning.
  func startOver(_ run: FetchRun) {
    let mayAgain = state.withLock { state in
      state.corruptions += 1
      return state.corruptions <= 1
    }
    ended(run, mayAgain ? nil : .inputOutput, gone: false)
  }

  /// Somebody waits for some of it.
  func isAwaited(_ range: Range<Int64>) -> Bool {
    state.withLock { $0.waiting.contains { $0.range.overlaps(range) } }
  }

  /// Nobody answered in time for this; the kernel, which has asked for more than the page it needs, asks once more: on
  /// a machine that is busy not at once.
  func noteUnanswered(_ range: Range<Int64>) {
    state.withLock { $0.unanswered = (range, sources.clock.now() + .seconds(1)) }
  }

  /// The body was not what its checksum says: it is thrown away, and asked for once more.
  func corrupted(_ run: FetchRun, _ error: StoreError?) {
    sources.log.error("a corrupted body was thrown away: \(error.map { "\($0)" } ?? "\(key)")")
    let (blob, failed) = state.withLock { state -> (Blob?, [Waiting]) in
      state.runs[ObjectIdentifier(run)] = nil
      // Another part was found damaged before: that copy is gone already.
      guard state.blob === run.blob else { return (nil, []) }
      state.store = .unknown
      state.corruptions += 1
      defer {
        state.blob = nil
        if state.corruptions > 1 { state.waiting = [] }
      }
      return (state.blob, state.corruptions > 1 ? state.waiting : [])
    }
    if let blob {
      sources.cache.discardDamaged(blob)
      blob.release()
    }
    // The kernel has nothing of a body that was held back; told to forget it, it would ask for the same pages again.
    if !run.isHeld { owner?.contentDamaged(self) }
    for read in failed { read.reply(.failed(.inputOutput)) }
    advance()
    letGo()
  }
}
