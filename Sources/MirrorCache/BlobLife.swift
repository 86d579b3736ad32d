// How long a blob lives: retained by the kernel's knowledge of it, ordered by use, retired when superseded.
import MirrorPlatform
import Synchronization

extension Blob {
  /// A blob that was handed out and never retained is not evicted for so long.
  private static let grace: Duration = .seconds(30)

  /// Keeps it from eviction until `release`. False when it was evicted in between: then ask for it again.
  @discardableResult
  public func retain() -> Bool {
    let (isKept, firstWith) = state.withLock { state -> (Bool, Int64?) in
      guard !state.isGone else { return (false, nil) }
      state.retains += 1
      return (true, state.retains == 1 ? state.bytes : nil)
    }
    if let firstWith { shelf.budget.retain(objects: 1, from: 0, to: firstWith) }
    return isKept
  }

  /// Gives back one `retain`.
  public func release() {
    let (lastWith, save, discard) = state.withLock { state -> (Int64?, Bool, Bool) in
      guard state.retains > 0 else { return (nil, false, false) }
      state.retains -= 1
      guard state.retains == 0 else { return (nil, false, false) }
      state.handedOut = nil
      return (state.bytes, queueUse(&state), state.isRetired && state.runs.isEmpty)
    }
    if let lastWith { shelf.budget.retain(objects: -1, from: lastWith, to: 0) }
    if save { shelf.save(self) }
    if discard { shelf.thread.post(.discard(self), within: CatalogueSession.patience) }
  }

  /// It was used just now: of all blobs it will be evicted last.
  public func touch() {
    lastUse.store(shelf.nextUse(), ordering: .relaxed)
    // While it is retained its place in the order does not matter; `release` has it written.
    let save = state.withLock { $0.retains == 0 && queueUse(&$0) }
    if save { shelf.save(self) }
  }

  private func queueUse(_ state: inout BlobState) -> Bool {
    guard !state.isQueued, !state.isGone, state.isUnsaved || state.savedUse != lastUse.load(ordering: .relaxed) else {
      return false
    }
    state.isQueued = true
    return true
  }

  var isRetained: Bool { state.withLock { $0.retains > 0 } }

  /// What comes there, of which nothing is here yet, is yet to be proven: nobody reads it, and a crash must not leave it
  /// behind as good. Ends with `proven` or `unprovable` of the same range, or never, where the copy is given up.
  public func expectProof(of range: Range<Int64>) { state.withLock { $0.unproven.append(range) } }

  /// A range is proven: it can be read, and once all is the row may tell of it.
  public func proven(_ range: Range<Int64>) {
    let save = state.withLock { state in
      if let index = state.unproven.firstIndex(of: range) { state.unproven.remove(at: index) }
      updateReady(state)
      guard state.isProven, state.isUnsaved, !state.isQueued, !state.isGone else { return false }
      state.isQueued = true
      return true
    }
    if save { shelf.save(self) }
  }

  /// Nothing will prove what came of a range: it is dropped.
  public func unprovable(_ range: Range<Int64>) {
    let change = state.withLock { state -> Change in
      let before = state.bytes
      for block in geometry.blocks(of: range) { _ = state.drop(block) }
      return Change(from: before, to: state.bytes, isRetained: state.retains > 0)
    }
    count(change)
    proven(range)
  }

  /// Nobody is handed it from now on or reads it, though other runs may still write it, and no row tells of it.
  func condemn() {
    state.withLock { state in
      state.isDamaged = true
      updateReady(state)
    }
  }

  var isDamaged: Bool { state.withLock { $0.isDamaged } }

  // MARK: For the catalogue's thread, which alone lets blobs go

  /// Marks it as superseded; true when nothing keeps it, and now it is gone.
  func retire() -> Bool {
    state.withLock { state in
      state.isRetired = true
      if state.retains == 0 && state.runs.isEmpty { state.isGone = true }
      return state.isGone
    }
  }

  /// True when it was retired, nothing keeps it any more, and now it is gone.
  func goIfRetired() -> Bool {
    state.withLock { state in
      guard state.isRetired, !state.isGone, state.retains == 0, state.runs.isEmpty else { return false }
      state.isGone = true
      return true
    }
  }

  /// True when it was retired and now is gone, whatever keeps it.
  func goAtClose() -> Bool {
    state.withLock { state in
      guard state.isRetired, !state.isGone else { return false }
      state.isGone = true
      return true
    }
  }

  /// Hands it out again, also one that was retired: its revision is wanted. False when it is gone or damaged.
  func handOut() -> Bool {
    state.withLock { state in
      guard !state.isGone, !state.isDamaged else { return false }
      state.isRetired = false
      state.handedOut = shelf.clock.now()
      return true
    }
  }

  enum Eviction { case gone, inUse, usedSince(Int64) }

  /// Lets it go unless it is in use, or was used after what its row says.
  func evict(lastUse row: Int64) -> Eviction {
    let now = shelf.clock.now()
    return state.withLock { state in
      let isHeld = state.handedOut.map { now - $0 < Self.grace } ?? false
      if state.isGone || state.retains > 0 || !state.runs.isEmpty || isHeld { return .inUse }
      let use = lastUse.load(ordering: .relaxed)
      if use > row { return .usedSince(use) }
      state.isGone = true
      return .gone
    }
  }

  // MARK: Rows

  var needsSync: Bool {
    geometry.size > Self.synchronised && state.withLock { $0.isUnsaved && $0.isProven && $0.bytes > 0 }
  }
  var hasUnsaved: Bool { state.withLock { $0.isUnsaved && $0.isProven && !$0.isGone } }

  /// What the catalogue was told of it is lost.
  func markUnsaved() { state.withLock { $0.isUnsaved = true } }

  /// Takes what the row lacks.
  func takeUnsaved() -> CatalogueWrite? {
    let use = lastUse.load(ordering: .relaxed)
    let now = shelf.clock.now()
    let row: BlobRow? = state.withLock { state in
      state.isQueued = false
      guard !state.isGone, state.isUnsaved, state.isProven else { return nil }
      (state.isUnsaved, state.savedUse, state.savedAt) = (false, use, now)
      let row = BlobRow(
        id: id, key: key, metadata: metadata, bytes: state.bytes, blocks: state.blocks, digests: state.digests,
        used: use, era: state.era, written: 0)
      // Once the row has them nobody asks for the digests of a blob that is complete.
      if state.blocks.isFull && state.unverified == nil { state.digests = [] }
      return row
    }
    guard var row else { return takeUse(use) }
    row.written = (try? file().attributes().modifiedNanoseconds) ?? 0
    shelf.hasUnsafeRows.store(true, ordering: .releasing)
    return .row(self, row)
  }

  private func takeUse(_ use: Int64) -> CatalogueWrite? {
    state.withLock { state in
      guard !state.isGone, state.savedUse != use else { return nil }
      state.savedUse = use
      return .used(id, use)
    }
  }

  /// The row was given another place in the order of use.
  func rowWasMoved(to use: Int64) { state.withLock { $0.savedUse = use } }
}
