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
        openers: [opener], first: !state.namespace.directories[directory].hasListing)
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
      state.handles[state.lastHandle] = directory
      let isAsShown = directory.map { state.namespace.noteShown($0, now) } ?? false
      return OpenedDirectory(handle: state.lastHandle, isAsShown: isAsShown)
    }
  }

  public func closeDirectory(_ node: NodeID, handle: UInt64) { state.withLock { $0.handles[handle] = nil } }

  public func readDirectory(
    _ node: NodeID, handle: UInt64, offset: UInt64, plus: Bool, into collector: any DirectoryCollector
  ) {
    serve(ListingFlight.Reader(node: node, offset: offset, plus: plus, collector: collector))
  }

  /// Shows the names that are known from an offset on; waits for the next page where more are coming.
  private func serve(_ reader: ListingFlight.Reader) {
    enum Outcome { case finish([NodeID], Errno?), wait }
    let outcome = change { state, now -> Outcome in
      guard let directory = state.namespace.directoryIndex(reader.node) else { return .finish([], .stale) }
      let (added, reachedEnd) = state.namespace.collect(directory, reader, now)
      if added.isEmpty, reachedEnd, state.listings[directory]?.first == true {
        state.listings[directory]?.readers.append(reader)
        return .wait
      }
      return .finish(added, nil)
    }
    guard case .finish(let added, let error) = outcome else { return }
    if !reader.collector.finish(error), reader.plus { for node in added { forget(node, count: 1) } }
  }

  /// The directory's listing, from the catalogue or the origin; the flight is registered already.
  private func list(_ directory: Int) async {
    await load(directory: directory)
    if state.withLock({ $0.isListingFresh(directory, clock.now()) }) { return conclude(directory, nil) }
    if store.isLate { losePatience(directory) }
    let timer = Task { [weak self] in
      try? await Task.sleep(for: Self.patience)
      if !Task.isCancelled { self?.losePatience(directory) }
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
        let known = error.isOriginFailure && state.namespace.mayServeStaleListing(directory, now)
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
    guard let flight = state.withLock({ $0.listings.removeValue(forKey: directory) }) else { return }
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
}

extension Namespace {
  func mayServeStaleListing(_ directory: Int, _ now: Instant) -> Bool {
    guard directories[directory].hasListing else { return false }
    guard let bound = staleListingBound(directory) else { return true }
    return now < directories[directory].listed + listingLifetime(directory) + bound
  }

  /// Somebody is about to read a directory. Whether the kernel may show him what it showed the last one: that is as it
  /// was, and the kernel need not ask for the names in it, which else are better given with it.
  mutating func noteShown(_ directory: Int, _ now: Instant) -> Bool {
    let table = directories[directory].table
    let before = directories[directory].shown
    if let before, before.version == table.version, before.listed == directories[directory].listed,
      now < before.at + Self.longestTimeout, hasFreshListing(directory, now),
      table.entries.allSatisfy({ $0.kind != .file || $0.link != 0 })
    {
      return true
    }
    directories[directory].shown = Directory.Shown(
      version: table.version, listed: directories[directory].listed, at: now)
    return false
  }

  /// Adds names to an answer until it is full; which nodes it counts, and whether there was no more.
  mutating func collect(
    _ directory: Int, _ reader: ListingFlight.Reader, _ now: Instant
  ) -> (added: [NodeID], reachedEnd: Bool) {
    var added: [NodeID] = []
    guard reader.plus else {
      let reachedEnd = collectPlain(directory, reader, &added)
      return (added, reachedEnd)
    }
    var slot = Int(clamping: reader.offset)
    while slot < directories[directory].table.count {
      let entry = directories[directory].table[slot]
      slot += 1
      guard entry.kind != .none else { continue }
      // Of a file whose metadata are wanted the kernel asks when somebody looks at it.
      let isDescribed = !needsDescription(directory, slot - 1) && !needsRecall(directory, slot - 1)
      let isDirectory = entry.kind == .directory
      let node =
        isDirectory ? directories[Int(entry.link)].node : isDescribed ? fileNode(directory, slot - 1) : 0
      let shown =
        isDirectory
        ? directoryEntry(Int(entry.link))
        : isDescribed ? fileEntry(directory, slot - 1, now: now) : undescribedEntry(directory, slot - 1)
      let name = directories[directory].table.name(slot - 1)
      guard reader.collector.add(name: name, entry: shown, offset: UInt64(slot)) else {
        if isDescribed, !isDirectory, nodes[node].lookups == 0 { dropUnusedNode(directory, slot - 1) }
        return (added, false)
      }
      if isDescribed {
        nodes.retain(node)
        added.append(nodes.id(node))
      } else if added.isEmpty {
        added.append(.root)
      }
    }
    return (added, true)
  }

  /// READDIR counts no node; the first stands for all that there is something.
  private func collectPlain(_ directory: Int, _ reader: ListingFlight.Reader, _ added: inout [NodeID]) -> Bool {
    let table = directories[directory].table
    let collector = reader.collector
    for slot in Int(clamping: reader.offset)..<max(table.count, Int(clamping: reader.offset))
    where table[slot].kind != .none {
      let fits = table.withName(slot) { name in
        collector.add(name: name, plain: plainEntry(directory, slot, name), offset: UInt64(slot + 1))
      }
      guard fits else { return false }
      if added.isEmpty { added.append(.root) }
    }
    return true
  }

  private mutating func dropUnusedNode(_ directory: Int, _ slot: Int) {
    nodes.remove(directories[directory].table[slot].link)
    directories[directory].table.update(slot) { $0.link = 0 }
  }
}
