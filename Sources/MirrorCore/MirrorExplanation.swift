// Why a name is fresh or not, and what its next open would ask and cost.
import MirrorPlatform
public import MirrorStore
import Synchronization

/// What the next open of a name would do, and why.
public struct Explanation: Sendable {
  public enum Verdict: String, Sendable { case fresh, stale, offline, absent, directory, unknown }
  public let key: ObjectKey
  public let verdict: Verdict
  /// The freshness rule that decides, as it was given.
  public let rule: String
  /// What the object itself said, where the rule is `origin`; empty: nothing; nil: not known, or of no account.
  public fileprivate(set) var said: String?
  /// Of a file, of a directory's listing, or of an absence.
  public let lifetime: Duration
  /// Since the origin last vouched for it, and how old its answer was then; nil: never.
  public fileprivate(set) var age: Duration?
  public fileprivate(set) var size: Int64?
  public fileprivate(set) var etag: EntityTag?
  /// The cache holds bytes of it.
  public fileprivate(set) var isCached = false
  /// What the next open sends; nil: nothing.
  public fileprivate(set) var next: NextRequest?

  /// A request, before it is sent.
  public struct NextRequest: Sendable {
    public let kind: RequestKind
    public let words: String
    /// USD.
    public let cost: Double
  }

  /// In words; nil: nothing.
  public var nextRequest: String? { next?.words }
  /// USD.
  public var nextCost: Double { next?.cost ?? 0 }

  init(_ key: ObjectKey, _ verdict: Verdict, _ rule: FreshnessRule, lifetime: Duration) {
    self.key = key
    self.verdict = verdict
    self.rule = rule.text
    self.lifetime = lifetime
  }
}

extension Explanation {
  /// Of a file.
  fileprivate init(
    _ key: ObjectKey, _ verdict: Verdict, _ namespace: Namespace, _ directory: Int, _ slot: Int, _ now: Instant
  ) {
    let table = namespace.directories[directory].table
    let entry = table[slot]
    self.init(
      key, verdict, namespace.rule(directory, table.name(slot)), lifetime: namespace.lifetime(directory, slot))
    said = namespace.said(directory, slot)
    age = namespace.age(directory, slot, now)
    size = entry.revision.size
    etag = entry.revision.etag
    isCached = entry.cached
  }
}

extension BucketMirror {
  public func explain(_ path: [UInt8]) async -> Explanation? {
    await recall(path: path)
    let isOffline = store.offlineSince != nil
    return state.withLock { state in
      let now = clock.now()
      var explanation = explain(path[...], state.namespace, isOffline: isOffline, now)
      if isOffline { explanation.next = nil }
      return explanation
    }
  }

  private func explain(
    _ path: ArraySlice<UInt8>, _ namespace: Namespace, isOffline: Bool, _ now: Instant
  ) -> Explanation {
    let key = ObjectKey(configuration.prefix.bytes + path)
    guard let (directory, slot) = namespace.place(ofPath: path) else {
      let rule = namespace.rules.rule(of: path)
      if namespace.isKnownAbsent(path, now) {
        return Explanation(key, .absent, rule, lifetime: namespace.rules.negative(rule))
      }
      var unknown = Explanation(
        key, isOffline ? .offline : .unknown, rule, lifetime: namespace.rules.terms(rule).lifetime)
      unknown.next = nextRequest(discovering: path, namespace)
      return unknown
    }
    guard let slot, namespace.directories[directory].table[slot].kind == .file else {
      let directory = slot.map { Int(namespace.directories[directory].table[$0].link) } ?? directory
      let listed = namespace.directories[directory].listed
      var known = Explanation(
        key, .directory, namespace.listingRule(directory), lifetime: namespace.listingLifetime(directory))
      known.age = listed == .distantPast ? nil : now - listed
      return known
    }
    let isFresh = namespace.isFresh(directory, slot, now)
    var file = Explanation(
      key, isFresh ? .fresh : isOffline ? .offline : .stale, namespace, directory, slot, now)
    file.next = nextRequest(of: namespace.directories[directory].table[slot], isFresh: isFresh, namespace)
    return file
  }

  // MARK: What is asked next

  private func nextRequest(of entry: Entry, isFresh: Bool, _ namespace: Namespace) -> Explanation.NextRequest? {
    let storageClass = StorageClass(namespace.storageClass(entry))
    if !isFresh {
      return nextRequest(
        planner.validation(of: entry.revision, cached: entry.cached), entry.revision.size, storageClass)
    }
    if entry.cached || entry.revision.size == 0 { return nil }
    let size = entry.revision.size
    let parts = size <= configuration.partSize ? 1 : (size + configuration.partSize - 1) / configuration.partSize
    let cost = ledger.prices.cost(RequestClass(.get, .success, storageClass), Tally(requests: Int(parts), bytes: size))
    return .init(
      kind: .get, words: parts == 1 ? "GET, when it is read" : "\(parts) GET, when all of it is read", cost: cost)
  }

  /// The first name on the way that nobody knows is asked for first.
  private func nextRequest(
    discovering path: ArraySlice<UInt8>, _ namespace: Namespace
  ) -> Explanation.NextRequest? {
    guard let id = namespace.firstUnknown(on: path) else { return nil }
    let plan = planner.discovery(
      id.name, beside: namespace.directories[id.directory].holds, wasAbsent: namespace.absent[id] != nil)
    return nextRequest(plan, nil, .standard)
  }

  private func nextRequest(
    _ plan: ValidationPlanner.Request, _ size: Int64?, _ storageClass: StorageClass
  ) -> Explanation.NextRequest {
    let prices = ledger.prices
    switch plan {
    case .validate:
      let cost = prices.of(.get, storageClass)
      return .init(kind: .get, words: "GET with If-None-Match: 304 while unchanged", cost: cost)
    case .fetch(let range):
      let most = range?.end ?? size ?? 0
      let tally = Tally(requests: 1, bytes: min(size ?? most, most))
      return .init(
        kind: .get, words: size == nil ? "GET of its first \(ByteCount(most))" : "GET",
        cost: prices.cost(RequestClass(.get, .success, storageClass), tally))
    case .look:
      let cost = prices.of(.head, storageClass)
      return .init(kind: .head, words: "HEAD; its bytes are asked for when they are read", cost: cost)
    case .sample where traits.lacks(.order):
      return .init(
        kind: .head, words: "HEAD, and a LIST of what lies below where there is no file",
        cost: prices.of(.head, storageClass) + prices.of(.list, configuration.storageClass ?? .standard))
    case .sample:
      return .init(
        kind: .list, words: "LIST of the keys that begin so",
        cost: prices.of(.list, configuration.storageClass ?? .standard))
    }
  }
}
