// What people and scripts may ask of a running mirror: its state, why a name is fresh, and to look again.
public import MirrorCache
public import MirrorPlatform
public import MirrorStore
import Synchronization

public struct MirrorStatus: Sendable {
  /// Nil while the origin answers.
  public let offlineSince: WallTime?
  public let requests: RequestCounts
  /// USD since mount.
  public let cost: Double
  public let served: ServedCounts
  public let cache: CacheUsage
  public let hiddenKeys: Int

  public var online: Bool { offlineSince == nil }
}

/// What the next open of a name would do, and why.
public struct Explanation: Sendable {
  public enum Verdict: String, Sendable { case fresh, stale, offline, absent, directory, unknown }
  public let key: ObjectKey
  public let verdict: Verdict
  /// The freshness rule that decides, as it was given.
  public let rule: String
  /// What the object itself said, where the rule is `origin`; empty: nothing; nil: not known, or of no account.
  public let said: String?
  /// Of a file, of a directory's listing, or of an absence.
  public let lifetime: Duration
  /// Since the origin last vouched for it, and how old its answer was then; nil: never.
  public let age: Duration?
  public let size: Int64?
  public let etag: EntityTag?
  /// The cache holds bytes of it.
  public let isCached: Bool
  /// What the next open sends, in words; nil: nothing.
  public let nextRequest: String?
  /// USD.
  public let nextCost: Double
}

extension Explanation {
  fileprivate init(
    key: ObjectKey, verdict: Verdict, rule: FreshnessRule, said: String? = nil, lifetime: Duration,
    age: Duration? = nil, entry: Entry? = nil, request: String? = nil, cost: Double = 0
  ) {
    self.init(
      key: key, verdict: verdict, rule: rule.text, said: said, lifetime: lifetime, age: age,
      size: entry?.revision.size, etag: entry?.revision.etag, isCached: entry?.cached ?? false, nextRequest: request,
      nextCost: request == nil ? 0 : cost)
  }
}

extension BucketMirror {
  public func status() -> MirrorStatus {
    let (served, hidden) = state.withLock { ($0.served, $0.namespace.hidden.count) }
    let counts = ledger.sinceMount
    return MirrorStatus(
      offlineSince: store.offlineSince, requests: counts, cost: counts.cost(ledger.prices), served: served,
      cache: cache.usage(), hiddenKeys: hidden)
  }

  /// Objects that have no name in the mount, as far as they were seen, and why.
  public func hiddenKeys() -> [(key: ObjectKey, reason: String)] {
    state.withLock { $0.namespace.hidden.map { ($0.key, $0.value.rawValue) } }.sorted { $0.0 < $1.0 }
      .map { (key: $0.0, reason: $0.1) }
  }

  /// Marks a name, or all below a directory, as stale: the next open asks the origin. `path` is relative to the
  /// mount root, empty for all. Returns how many were marked; nil for a name that nobody knows.
  public func refresh(_ path: [UInt8]) async -> Int? {
    let key = ObjectKey(configuration.prefix.bytes + path)
    await recall(path: path)
    let inMemory = change { state, _ -> Int? in
      let absent = state.namespace.expireAbsences(below: key.bytes)
      guard let (directory, slot) = state.namespace.place(ofPath: path[...]) else { return absent > 0 ? absent : nil }
      guard let slot else { return absent + state.namespace.expire(directory) }
      return absent + state.namespace.expire(directory, state.namespace.directories[directory].table.name(slot))
    }
    let remembered = await cache.catalogue.markStale(key)
    if inMemory == nil && remembered == 0 && !path.isEmpty { return nil }
    return max(inMemory ?? 0, remembered)
  }

  public func explain(_ path: [UInt8]) async -> Explanation? {
    await recall(path: path)
    let offline = store.offlineSince != nil
    let key = ObjectKey(configuration.prefix.bytes + path)
    return state.withLock { state in
      let now = clock.now()
      let namespace = state.namespace
      guard let (directory, slot) = namespace.place(ofPath: path[...]) else {
        let rule = namespace.rules.rule(of: path[...])
        let isAbsent = namespace.isKnownAbsent(path[...], now)
        return Explanation(
          key: key, verdict: isAbsent ? .absent : offline ? .offline : .unknown, rule: rule,
          lifetime: isAbsent ? namespace.rules.negative(rule) : namespace.rules.terms(rule).lifetime,
          request: isAbsent || offline ? nil : "a GET or a LIST, to find out whether it exists",
          cost: ledger.prices.perList)
      }
      guard let slot, namespace.directories[directory].table[slot].kind == .file else {
        let directory = slot.map { Int(namespace.directories[directory].table[$0].link) } ?? directory
        let listed = namespace.directories[directory].listed
        return Explanation(
          key: key, verdict: .directory, rule: namespace.listingRule(directory),
          lifetime: namespace.listingLifetime(directory), age: listed == .distantPast ? nil : now - listed)
      }
      let entry = namespace.directories[directory].table[slot]
      let isFresh = namespace.isFresh(directory, slot, now)
      let request =
        isFresh
        ? entry.cached ? nil : "GET, when it is read"
        : entry.cached ? "GET with If-None-Match: 304 while unchanged" : "GET"
      return Explanation(
        key: key, verdict: isFresh ? .fresh : offline ? .offline : .stale,
        rule: namespace.rule(directory, namespace.directories[directory].table.name(slot)),
        said: namespace.said(directory, slot), lifetime: namespace.lifetime(directory, slot),
        age: namespace.age(directory, slot, now), entry: entry, request: offline ? nil : request,
        cost: ledger.prices.perGet)
    }
  }

  /// Brings in what the catalogue knows of each name on a path.
  private func recall(path: [UInt8]) async {
    var directory = 0
    await recall(directory: 0)
    for name in path.split(separator: 0x2F) {
      let id = NameID(directory: directory, name: Array(name))
      if state.withLock({ $0.namespace.slot(of: id) }) == nil { await recall(id) }
      guard let next = state.withLock({ $0.namespace.subdirectory(directory, name) }) else { break }
      directory = next
    }
    guard let file = state.withLock({ $0.namespace.place(ofPath: path[...]) }), let slot = file.slot else { return }
    let entry = state.withLock { $0.namespace.directories[file.directory].table[slot] }
    if entry.kind == .file, !entry.recalled {
      _ = await recallCached(FileID(file.directory, slot), ObjectKey(configuration.prefix.bytes + path))
    }
  }
}
