// Validation by the page: one LIST in place of many checks, where that is cheaper.
import MirrorPlatform
import MirrorStore
import Synchronization

/// What a page is bought for.
enum PageTarget: Hashable, Sendable {
  /// A block that a page listed before: its prefix, and the key that it begins after.
  case block(prefix: ObjectKey, after: ObjectKey)
  /// A directory, all below it, and what follows it in its parent as far as the page goes.
  case directory(Int)
  /// A key in a directory too large for a page, and what follows it.
  case key(ObjectKey, in: Int)
}

/// A page that came: when it was asked for, and its last key where there are more.
struct ArrivedPage {
  let requested: Instant
  let end: [UInt8]?
}

/// A page under way.
typealias PageTask = Task<Result<ArrivedPage, StoreError>, Never>

extension BucketMirror {
  /// Buys a page, or waits for one under way, if that is the cheaper way to validate this name among its neighbours.
  /// True when the name is fresh by it.
  func validateByPage(_ question: Question) async throws(StoreError) -> Bool {
    let page = change { state, now -> PageTask? in
      let target = state.target(for: question, planner, now, isOrdered: !traits.lacks(.order))
      guard let target else { return nil }
      return self.page(target, &state)
    }
    guard let page else { return false }
    switch await page.value {
    case .success(let page):
      // The file is gone, and the page ended before a directory of its name.
      if let end = page.end, end.lexicographicallyPrecedes(question.key.bytes + [0x2F]),
        state.withLock({ $0.namespace.slot(of: question.id) == nil })
      {
        try await sample(question, onlyBelow: true)
        return true
      }
      // It counts for who waited, however long it took and however short the lifetime is.
      return state.withLock { $0.namespace.isVouched(question.id, since: page.requested) }
    case .failure(let failure):
      // The page is dear; what is asked may still be had singly.
      if failure.isOriginFailure, failure.code != .overBudget { throw failure }
      return false
    }
  }

  /// A page under way, begun if nobody has.
  func page(_ target: PageTarget) -> PageTask { state.withLock { page(target, &$0) } }

  private func page(_ target: PageTarget, _ state: inout State) -> PageTask {
    if let page = state.pages[target] { return page }
    let page = Task { await self.fetchPage(target) }
    state.pages[target] = page
    return page
  }

  private func fetchPage(_ target: PageTarget) async -> Result<ArrivedPage, StoreError> {
    let requested = clock.now()
    let isOrdered = !traits.lacks(.order)
    var request = state.withLock { $0.request(for: target, isOrdered: isOrdered) }
    request.deadline = requested + Self.deadline
    request.purpose = Errand.purpose(.listing)
    do throws(StoreError) {
      let page = try await store.list(request)
      change { state, _ in
        state.apply(page, of: request, requested: requested, for: target, isOrdered: !traits.lacks(.order))
        state.pages[target] = nil
      }
      answerKnown(in: nil)
      return .success(
        ArrivedPage(requested: requested, end: page.next == nil ? nil : page.objects.last?.key.bytes))
    } catch {
      state.withLock { $0.pages[target] = nil }
      return .failure(error)
    }
  }
}

extension BucketMirror.State {
  /// So many names of a page must be of use to pay for it.
  private static let worthwhile = 12

  /// The page to buy for a stale name; nil: check it singly, which is noted.
  fileprivate mutating func target(
    for question: Question, _ planner: ValidationPlanner, _ now: Instant, isOrdered: Bool
  ) -> PageTarget? {
    // A listing that shows other tags than GET does proves presence only.
    guard !namespace.listedTagsDiffer, let slot = namespace.fileSlot(of: question.id) else { return nil }
    let directory = question.id.directory
    let lifetime = namespace.lifetime(directory, slot)
    let target = purchase(question.key, directory, lifetime, planner, now, isOrdered: isOrdered)
    if let target {
      // One under way is paid for.
      if pages[target] == nil { charge(question.key, directory) { $0.notePayment($1, now, lifetime: lifetime) } }
    } else {
      charge(question.key, directory) { $0.noteCheck($1, now, lifetime: lifetime) }
    }
    return target
  }

  private func purchase(
    _ key: ObjectKey, _ directory: Int, _ lifetime: Duration, _ planner: ValidationPlanner, _ now: Instant,
    isOrdered: Bool
  ) -> PageTarget? {
    let name = stableHash(key.bytes)
    func isPage(_ history: SpendingHistory) -> Bool {
      planner.purchase(history, of: name, lifetime: lifetime, now: now) == .page
    }
    if let index = blocks.index(of: key.bytes) {
      guard isPage(blocks[index].history) else { return nil }
      return .block(prefix: ObjectKey(blocks[index].prefix), after: ObjectKey(blocks[index].start))
    }
    // The highest that is worth a page: it covers most for the same price.
    var best: Int?
    for ancestor in namespace.ancestors(of: directory) {
      if large.contains(ancestor) { break }
      if isPage(spending[ancestor] ?? SpendingHistory()) { best = ancestor }
    }
    if let best { return .directory(best) }
    // Without an order there is no page of what lies beside a key.
    guard isOrdered, large.contains(directory), let history = spending[directory], isPage(history) else { return nil }
    // Where names lie far apart a page meets few of them: each page that did not pay makes the next wait longer.
    let patience = Int(planner.pageInChecks) << min(wastedPages[directory] ?? 0, 10)
    return history.checks(within: lifetime, before: now) >= patience ? .key(key, in: directory) : nil
  }

  /// The histories that a key belongs to: its block's, or those of the directories on the way to it.
  private mutating func charge(
    _ key: ObjectKey, _ directory: Int, _ body: (inout SpendingHistory, UInt64) -> Void
  ) {
    let name = stableHash(key.bytes)
    if let index = blocks.index(of: key.bytes) { return body(&blocks[index].history, name) }
    for ancestor in namespace.ancestors(of: directory) {
      if large.contains(ancestor), ancestor != directory { break }
      body(&spending[ancestor, default: SpendingHistory()], name)
    }
  }

  /// A name that a page vouched for is asked for: the page was worth something.
  mutating func noteUse(_ directory: Int, _ slot: Int, _ now: @autoclosure () -> Instant) {
    guard namespace.takeUncounted(directory, slot) else { return }
    let (now, lifetime) = (now(), namespace.lifetime(directory, slot))
    charge(namespace.key(directory, slot), directory) { $0.noteUse($1, now, lifetime: lifetime) }
  }

  /// A position shortly before a directory's name. Not the name itself: some servers take the directory for what the
  /// listing is to start after, and leave it out.
  private static func justBefore(_ name: [UInt8]) -> [UInt8] {
    guard let last = name.last else { return name }
    let isPlain = (0x31...0x39).contains(last) || (0x42...0x5A).contains(last) || (0x62...0x7A).contains(last)
    return isPlain ? ListingScan.end(of: name.dropLast() + [last - 1]).bytes : Array(name.dropLast())
  }

  func request(for target: PageTarget, isOrdered: Bool) -> ListRequest {
    switch target {
    case .block(let prefix, let start):
      return ListRequest(prefix: prefix, delimited: false, startAfter: start.bytes.isEmpty ? nil : start)
    case .directory(let directory) where directory == 0 || !isOrdered:
      return ListRequest(prefix: ObjectKey(namespace.directories[directory].key), delimited: false)
    case .directory(let directory):
      // What follows it in its parent comes for the same price.
      let parent = namespace.directories[namespace.directories[directory].parent].key
      let start = Self.justBefore(Array(namespace.directories[directory].key.dropLast()))
      return ListRequest(
        prefix: ObjectKey(parent), delimited: false, startAfter: start.count > parent.count ? ObjectKey(start) : nil)
    case .key(let key, let directory):
      return ListRequest(
        prefix: ObjectKey(namespace.directories[directory].key), delimited: false,
        startAfter: ObjectKey(Array(key.bytes.dropLast())))
    }
  }

  fileprivate mutating func apply(
    _ page: ListPage, of request: ListRequest, requested: Instant, for target: PageTarget, isOrdered: Bool
  ) {
    if case .key(_, let directory) = target {
      // Names that were known before are those that somebody may ask for again.
      let known = page.objects.count { namespace.place(of: $0.key)?.slot != nil }
      wastedPages[directory] = known >= Self.worthwhile ? 0 : (wastedPages[directory] ?? 0) + 1
    }
    let start = request.startAfter?.bytes ?? []
    let base = namespace.deepestDirectory(of: request.prefix.bytes)
    var scan = ListingScan(
      base: base, coversBase: start.isEmpty && namespace.directories[base].key == request.prefix.bytes,
      since: requested, after: start, isOrdered: isOrdered)
    scan.applyFlat(page, requested: requested, to: &namespace)
    if page.next != nil {
      large.formUnion(scan.large.filter { !start.starts(with: namespace.directories[$0].key) })
    }
    let end = page.next == nil ? nil : page.objects.last?.key.bytes
    for directory in namespace.ancestors(of: namespace.deepestDirectory(of: start)) where !start.isEmpty && isOrdered {
      namespace.sweep(directory, below: request.prefix.bytes, after: start, through: end, since: requested)
    }
    for directory in scan.unfinished {
      namespace.sweep(directory, below: request.prefix.bytes, after: start, through: end, since: requested)
    }
    learn(page, of: request, scan)
    if case .directory(let directory) = target {
      spending[directory, default: SpendingHistory()].notePage()
    }
    if case .key(_, let directory) = target { spending[directory, default: SpendingHistory()].notePage() }
  }

  /// Remembers what a page covered, and that the directories it showed whole were paid for.
  mutating func learn(
    _ page: ListPage, of request: ListRequest, _ scan: ListingScan, after start: [UInt8]? = nil
  ) {
    for directory in scan.completed { spending[directory, default: SpendingHistory()].notePage() }
    // One without a key that goes on tells nothing of where it ends.
    guard page.next == nil ? page.objects.count >= KeyBlocks.smallest : !page.objects.isEmpty else { return }
    // A part of a listing without an order is no block of keys.
    guard scan.isOrdered || page.next == nil && request.startAfter == nil && request.continuation == nil else { return }
    let block = KeyBlock(
      prefix: request.prefix.bytes, start: start ?? request.startAfter?.bytes ?? [],
      end: page.next == nil ? nil : page.objects.last?.key.bytes)
    blocks.learn(block)
  }
}

extension Namespace {
  /// The directory and those that it lies in, from the inside out; the root last.
  func ancestors(of directory: Int) -> some Sequence<Int> {
    sequence(first: directory) { $0 == 0 ? nil : directories[$0].parent }
  }

  /// The deepest known directory that lies on the way to a key.
  func deepestDirectory(of key: [UInt8]) -> Int {
    guard key.starts(with: directories[0].key) else { return 0 }
    var directory = 0
    for name in key[prefixLength...].split(separator: 0x2F) {
      guard let next = subdirectory(directory, name), key.starts(with: directories[next].key) else { break }
      directory = next
    }
    return directory
  }

  /// Files of a directory whose keys begin with a prefix and lie in a range, which was listed at `since`, and were not in
  /// it, are gone.
  mutating func sweep(
    _ directory: Int, below prefix: [UInt8], after start: [UInt8], through end: [UInt8]?, since: Instant
  ) {
    for slot in 0..<directories[directory].table.count {
      let entry = directories[directory].table[slot]
      guard entry.kind == .file, entry.validated < since || entry.isExpired else { continue }
      let key = key(directory, slot).bytes
      guard key.starts(with: prefix), start.lexicographicallyPrecedes(key) else { continue }
      if let end, end.lexicographicallyPrecedes(key) { continue }
      removeFile(directory, slot)
    }
  }

  /// The origin vouched for a name, or for its absence, by a request sent at `since` or later.
  func isVouched(_ id: NameID, since: Instant) -> Bool {
    guard let slot = fileSlot(of: id) else { return true }
    let entry = directories[id.directory].table[slot]
    return !entry.isExpired && entry.validated >= since
  }

  /// Whether a page vouched for a name and nobody has asked for it since; from now on somebody has.
  mutating func takeUncounted(_ directory: Int, _ slot: Int) -> Bool {
    guard directories[directory].table[slot].isUncounted else { return false }
    directories[directory].table.update(slot) { $0.isUncounted = false }
    return true
  }
}
