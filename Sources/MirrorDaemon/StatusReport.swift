// What is known of one mount at one moment, and how it is told to scripts.
public import MirrorFUSE
public import MirrorPlatform
public import MirrorStore

public struct StatusReport: Sendable {
  public var mountPoint: String
  public var source: String
  public var endpoint: String
  public var process: Int32
  public var since: WallTime
  public var online: Bool
  public var offlineSince: WallTime?

  public var cacheDirectory: String
  public var cacheBytes: Int64
  public var cacheLimit: Int64
  public var cachedObjects: Int
  public var pinned: Int

  public var requests: RequestCounts
  public var costSinceMount: Double
  public var costThisMonth: Double

  public var fetched: Int
  public var revalidated: Int
  public var stale: Int
  public var negative: Int
  public var hiddenKeys: Int
  public var budgets: [Purse.Status] = []
  /// Nil: the mount listens to no queue.
  public var events: QueueStatus?
  public var dataPath = DataPath.cached(because: nil)
  /// The time that is shown, RFC 3339; nil: the present.
  public var view: String?

  /// Look-ups of files answered from memory.
  public var fresh = 0
  /// What is under way, and what was asked again.
  public var traffic = OriginTraffic.Report()
  /// The moment that `traffic` is of.
  public var now = Instant(nanoseconds: 0)
  /// The same; nil where ages are not to be told.
  public var wall: WallTime?
  public var logLevel = Log.Level.notice
  /// Nil: standard error.
  public var logFile: String?
  /// Where metrics are served, as a URL.
  public var metrics: String?

  public var json: JSON {
    var members: [(String, JSON)] = [
      ("mountpoint", .string(mountPoint)), ("source", .string(source)), ("endpoint", .string(endpoint)),
      ("pid", .int(Int64(process))), ("since", .string(rfc3339(since))),
      ("state", .string(online ? "online" : "offline")), ("offlineSince", Self.json(offlineSince.map(rfc3339))),
      ("cache", cacheJSON), ("requests", requestsJSON), ("bytesReceived", .int(requests.bytesReceived)),
      ("cost", costJSON), ("served", servedJSON),
    ]
    members.append(("hidden", Self.json(hiddenKeys)))
    members.append(("retries", Self.json(traffic.retries)))
    members.append(("transfers", .array(traffic.underWay.map(json))))
    members.append(("log", .object([("level", .string(logLevel.name)), ("file", Self.json(logFile))])))
    members.append(("metrics", Self.json(metrics)))
    members.append(("dataPath", .string(dataPath == .passthrough ? "passthrough" : "cached")))
    if let view { members.append(("at", .string(view))) }
    if !budgets.isEmpty { members.append(("budgets", .array(budgets.map(\.json)))) }
    if let events { members.append(("events", events.json)) }
    return .object(members)
  }

  private static func json(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
  private static func json(_ count: Int) -> JSON { .int(Int64(count)) }

  private var cacheJSON: JSON {
    .object([
      ("directory", .string(cacheDirectory)), ("bytes", .int(cacheBytes)), ("limit", .int(cacheLimit)),
      ("objects", Self.json(cachedObjects)), ("pinned", Self.json(pinned)),
    ])
  }

  private var requestsJSON: JSON {
    .object([
      ("get", Self.json(requests.gets)), ("head", Self.json(requests.heads)), ("list", Self.json(requests.lists)),
      ("other", Self.json(requests.others)), ("notModified", Self.json(requests.notModified)),
      ("failed", Self.json(requests.failed)),
    ])
  }

  private var costJSON: JSON {
    .object([
      ("currency", .string("USD")), ("sinceMount", .decimal(costSinceMount, places: 7)),
      ("thisMonth", .decimal(costThisMonth, places: 7)),
    ])
  }

  private var servedJSON: JSON {
    .object([
      ("fetched", Self.json(fetched)), ("revalidated", Self.json(revalidated)), ("stale", Self.json(stale)),
      ("negative", Self.json(negative)), ("fresh", Self.json(fresh)),
    ])
  }

  private func json(_ request: RequestUnderWay) -> JSON {
    .object([
      ("kind", .string(request.kind.rawValue)), keyMember(request.key), ("received", .int(request.received)),
      ("expected", request.expected.map { .int($0) } ?? .null),
      ("seconds", .decimal(max(0, (now - request.began).secondsValue), places: 3)),
    ])
  }
}

extension Purse.Status {
  var json: JSON {
    .object([
      ("limit", .string(limit.description)), ("unit", .string(limit.unit.rawValue)),
      ("period", .string(limit.period.rawValue)), ("amount", .decimal(limit.amount, places: places)),
      ("spent", .decimal(spent, places: places)), ("stretching", .bool(isStretching)),
    ])
  }

  private var places: Int { limit.unit == .usd ? 7 : 0 }

  var text: String {
    "\(limit.text(spent)) of \(limit) in the last \(limit.period.rawValue)"
      + (isStretching ? ", lifetimes stretch" : "")
  }
}

func rfc3339(_ time: WallTime) -> String { Timestamp(seconds: time.seconds).rfc3339 }
