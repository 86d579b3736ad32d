// OPENDIR, READDIR and READDIRPLUS: one listing for all who wait, shown as it arrives.
import MirrorCache
public import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  public func openDirectory(_ node: NodeID, reply: @escaping @Sendable (Result<OpenedDirectory, Errno>) -> Void) {
    bringUpToDate(node) { [weak self] error in
      if let error { return reply(.failure(error)) }
      guard let self else { return reply(.failure(.inputOutput)) }
      reply(.success(self.opened(node)))
    }
  }

  /// Brings the listing up to date where it is stale; of a first one the first page.
  func bringUpToDate(_ node: NodeID, opener: @escaping @Sendable (Errno?) -> Void) {
    enum Step {
      case done(Errno?)
      case start(Int)
      case wait
    }
    let step = state.withLock { state -> Step in
      guard let directory = state.namespace.directoryIndex(node) else { return .done(.stale) }
      if var flight = state.listings[directory] {
        if flight.overdue || flight.first && flight.pages > 0 { return .done(nil) }
        flight.openers.append(opener)
        state.listings[directory] = flight
        return .wait
      }
      if state.namespace.directories[directory].loaded, state.isListingFresh(directory, clock.now()) {
        return .done(nil)
      }
      state.listings[directory] = ListingFlight(
        openers: [opener], first: !state.namespace.directories[directory].hasListing, heard: clock.now())
      return .start(directory)
    }
    switch step {
    case .done(let error): opener(error)
    case .start(let directory): Task { await list(directory) }
    case .wait: break
    }
  }

  /// A handle for the kernel, which is about to be shown the directory.
  func opened(_ node: NodeID) -> OpenedDirectory {
    let now = clock.now()
    return state.withLock { state in
      state.lastHandle += 1
      let directory = state.namespace.directoryIndex(node)
      state.handles[state.lastHandle] = state.open(directory)
      let isAsShown = directory.map { state.namespace.noteShown($0, now) } ?? false
      return OpenedDirectory(handle: state.lastHandle, isAsShown: isAsShown)
    }
  }

  public func closeDirectory(_ node: NodeID, handle: UInt64) { state.withLock { $0.handles[handle] = nil } }

  public func readDirectory(
    _ node: NodeID, handle: UInt64, offset: UInt64, plus: Bool, into collector: any DirectoryCollector
  ) {
    var reader = ListingFlight.Reader(node: node, offset: offset, plus: plus, collector: collector)
    reader.handle = handle
    serve(reader)
  }

  /// Shows the names that are known from an offset on; waits for the next page where more are coming.
  private func serve(_ reader: ListingFlight.Reader) {
    enum Outcome { case finish([NodeID], Errno?), wait }
    let outcome = change { state, now -> Outcome in
      guard let directory = state.namespace.directoryIndex(reader.node) else { return .finish([], .stale) }
      let handle = state.handles[reader.handle]
      let isComing = state.listings[directory]?.first == true
      var reader = reader
      reader.skipped = handle?.skipped ?? 0
      reader.mayEnd = !isComing
      let (added, reachedEnd) = state.namespace.collect(directory, reader, now)
      if added.isEmpty, reachedEnd, isComing {
        state.listings[directory]?.readers.append(reader)
        return .wait
      }
      return .finish(added, added.isEmpty && reachedEnd ? handle?.failure : nil)
    }
    guard case .finish(let added, let error) = outcome else { return }
    if !reader.collector.finish(error), reader.plus { for node in added { forget(node, count: 1) } }
  }

  /// The directory's listing, from the catalogue or the origin; the flight is registered already.
  private func list(_ directory: Int) async {
    await load(directory: directory)
    state.withLock { $0.listings[directory]?.known = $0.namespace.directories[directory].table.count }
    if state.withLock({ $0.isListingFresh(directory, clock.now()) }) { return conclude(directory, nil) }
    if store.isLate { losePatience(directory) }
    let timer = Task { [weak self, clock, pause] in
      // A page is a sign of life: whoever waits, or comes after it, waits so long for the next one.
      var since = clock.now()
      while !Task.isCancelled, let self {
        await pause(Self.patience - (clock.now() - since))
        guard !Task.isCancelled, let heard = state.withLock({ $0.listings[directory]?.heard }) else { return }
        if heard <= since { losePatience(directory) }
        since = heard > since ? heard : clock.now()
      }
    }
    defer { timer.cancel() }
    do throws(StoreError) {
      try await fetchListing(directory)
      conclude(directory, nil)
    } catch {
      // What is fetched ahead is refused money that a reader, who waits for the same by now, is given.
      if error.code == .overBudget, Errand.current != nil, isShared(directory) {
        return await Errand.$current.withValue(nil) { await list(directory) }
      }
      let stale = change { state, now -> Bool in
        let known = error.isNoAnswer && state.namespace.mayServeStaleListing(directory, now)
        if known { state.served.stale += state.listings[directory]?.openers.count ?? 0 }
        return known
      }
      Errand.current?.note(error)
      if !error.isConnectionFailure, error.code != .overBudget || !stale && Errand.current == nil {
        log.limited(.warning, key: "list \(error.code)", "listing failed: \(error)")
      }
      conclude(directory, stale ? nil : error.errno)
    }
  }

  private func isShared(_ directory: Int) -> Bool {
    state.withLock { state in
      guard let flight = state.listings[directory] else { return false }
      return flight.openers.count + flight.readers.count > 1
    }
  }

  /// Shows a page to those who wait, where showing parts is right.
  func pageArrived(_ directory: Int) {
    let (openers, readers) = state.withLock { state -> ([@Sendable (Errno?) -> Void], [ListingFlight.Reader]) in
      guard var flight = state.listings[directory], flight.first else { return ([], []) }
      defer { state.listings[directory] = flight }
      defer {
        flight.openers = []
        flight.readers = []
      }
      return (flight.openers, flight.readers)
    }
    for opener in openers { opener(nil) }
    for reader in readers { serve(reader) }
  }

  private func conclude(_ directory: Int, _ error: Errno?) {
    guard let flight = state.withLock({ $0.endListing(directory, error) }) else { return }
    // The pages of a long listing leave holes in the heap.
    if flight.pages > 8 { ThisProcess.trimHeap() }
    for opener in flight.openers { opener(error) }
    for reader in flight.readers {
      if let error { _ = reader.collector.finish(error) } else { serve(reader) }
    }
  }

  /// A stale listing is better than waiting on.
  private func losePatience(_ directory: Int) {
    let openers = change { state, now -> [@Sendable (Errno?) -> Void] in
      guard var flight = state.listings[directory], state.namespace.mayServeStaleListing(directory, now) else {
        return []
      }
      let openers = flight.openers
      flight.openers = []
      flight.overdue = true
      state.listings[directory] = flight
      state.served.stale += openers.count
      return openers
    }
    for opener in openers { opener(nil) }
  }
}

extension BucketMirror.State {
  func isListingFresh(_ directory: Int, _ now: Instant) -> Bool { namespace.hasFreshListing(directory, now) }

  fileprivate func open(_ directory: Int?) -> OpenDirectory {
    guard let directory, let flight = listings[directory], flight.first else {
      // A first listing that was waited for, and has failed since, is not shown as all there is.
      let isUnknown = directory.map { !namespace.directories[$0].hasListing } ?? false
      return OpenDirectory(directory: directory, failure: isUnknown ? .inputOutput : nil)
    }
    return OpenDirectory(directory: directory, skipped: flight.known, isPartial: true)
  }

  /// A listing is over; whoever was shown its beginning learns of its failure at its end.
  fileprivate mutating func endListing(_ directory: Int, _ error: Errno?) -> ListingFlight? {
    guard let flight = listings.removeValue(forKey: directory) else { return nil }
    for (handle, open) in handles where open.directory == directory && open.isPartial {
      handles[handle]?.isPartial = false
      handles[handle]?.failure = error
    }
    return flight
  }
}
