// One look at a mount, as `top` takes it: what `status --json` says.
public import MirrorPlatform

/// What a mount said of itself, and when.
public struct MountSample: Equatable, Sendable {
  public struct Transfer: Equatable, Sendable {
    public var kind = ""
    public var key = ""
    public var received: Int64 = 0
    /// Nil before the head of the answer.
    public var expected: Int64?
  }
  public struct Budget: Equatable, Sendable {
    public var limit = ""
    public var share = 0.0
  }

  public var at = Instant(nanoseconds: 0)
  public var mountPoint = ""
  public var source = ""
  public var endpoint = ""
  public var process: Int64 = 0
  /// Seconds since 1970.
  public var since: Int64 = 0
  public var offlineSince: Int64?
  public var isOnline = true
  public var cacheBytes: Int64 = 0
  public var cacheLimit: Int64 = 0
  public var objects: Int64 = 0
  public var inUse: Int64 = 0
  /// `get`, `head`, `list`, `other`, `notModified`, `failed`.
  public var requests: [String: Int64] = [:]
  public var received: Int64 = 0
  public var costSinceMount = 0.0
  public var costThisMonth = 0.0
  /// `fetched`, `revalidated`, `stale`, `negative`, `fresh`.
  public var served: [String: Int64] = [:]
  public var retries: Int64 = 0
  public var transfers: [Transfer] = []
  public var budgets: [Budget] = []

  public init() {}

  /// Nil for what is no answer to `status --json`.
  public init?(_ json: JSON, at now: Instant) {
    guard let point = json["mountpoint"]?.string, let cache = json["cache"], let cost = json["cost"] else { return nil }
    at = now
    mountPoint = point
    source = json["source"]?.string ?? ""
    endpoint = json["endpoint"]?.string ?? ""
    process = json["pid"]?.int ?? 0
    since = Self.time(json["since"]) ?? 0
    offlineSince = Self.time(json["offlineSince"])
    isOnline = json["state"]?.string == "online"
    cacheBytes = cache["bytes"]?.int ?? 0
    cacheLimit = cache["limit"]?.int ?? 0
    objects = cache["objects"]?.int ?? 0
    inUse = cache["pinned"]?.int ?? 0
    requests = Self.counts(json["requests"])
    received = json["bytesReceived"]?.int ?? 0
    costSinceMount = cost["sinceMount"]?.number ?? 0
    costThisMonth = cost["thisMonth"]?.number ?? 0
    served = Self.counts(json["served"])
    retries = json["retries"]?.int ?? 0
    transfers = (json["transfers"]?.array ?? []).map(Transfer.init)
    budgets = (json["budgets"]?.array ?? []).map(Budget.init)
  }

  /// All requests sent since mount.
  public var requestCount: Int64 { ["get", "head", "list", "other"].reduce(0) { $0 + (requests[$1] ?? 0) } }
  /// Uses that took no bytes and no question, and all uses that were seen.
  public var hits: Int64 { (served["fresh"] ?? 0) + (served["stale"] ?? 0) }
  public var uses: Int64 { hits + (served["revalidated"] ?? 0) + (served["fetched"] ?? 0) }

  private static func time(_ json: JSON?) -> Int64? {
    json?.string.flatMap { Timestamp(rfc3339: $0) }?.seconds
  }

  private static func counts(_ json: JSON?) -> [String: Int64] {
    guard case .object(let members)? = json else { return [:] }
    return members.reduce(into: [:]) { $0[$1.0] = $1.1.int }
  }
}

extension MountSample.Transfer {
  fileprivate init(_ json: JSON) {
    kind = json["kind"]?.string ?? ""
    key = json["key"]?.string ?? json["keyBase64"]?.string ?? ""
    received = json["received"]?.int ?? 0
    expected = json["expected"]?.int
  }
}

extension MountSample.Budget {
  fileprivate init(_ json: JSON) {
    let amount = json["amount"]?.number ?? 0
    limit = json["limit"]?.string ?? ""
    share = amount > 0 ? (json["spent"]?.number ?? 0) / amount : 0
  }
}
