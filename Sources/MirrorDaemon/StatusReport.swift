// What `status` says of one mount, as JSON for scripts and as text for people.
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
  public var dataPath = DataPath.cached(because: nil)
  /// The time that is shown, RFC 3339; nil: the present.
  public var view: String?

  public var json: JSON {
    .object(
      [
        ("mountpoint", .string(mountPoint)), ("source", .string(source)), ("endpoint", .string(endpoint)),
        ("pid", .int(Int64(process))), ("since", .string(rfc3339(since))),
        ("state", .string(online ? "online" : "offline")),
        ("offlineSince", offlineSince.map { .string(rfc3339($0)) } ?? .null),
        (
          "cache",
          .object([
            ("directory", .string(cacheDirectory)), ("bytes", .int(cacheBytes)), ("limit", .int(cacheLimit)),
            ("objects", .int(Int64(cachedObjects))), ("pinned", .int(Int64(pinned))),
          ])
        ),
        (
          "requests",
          .object([
            ("get", .int(Int64(requests.gets))), ("head", .int(Int64(requests.heads))),
            ("list", .int(Int64(requests.lists))), ("other", .int(Int64(requests.others))),
            ("notModified", .int(Int64(requests.notModified))), ("failed", .int(Int64(requests.failed))),
          ])
        ),
        ("bytesReceived", .int(requests.bytesReceived)),
        (
          "cost",
          .object([
            ("currency", .string("USD")), ("sinceMount", .decimal(costSinceMount, places: 7)),
            ("thisMonth", .decimal(costThisMonth, places: 7)),
          ])
        ),
        (
          "served",
          .object([
            ("fetched", .int(Int64(fetched))), ("revalidated", .int(Int64(revalidated))), ("stale", .int(Int64(stale))),
            ("negative", .int(Int64(negative))),
          ])
        ),
        ("dataPath", .string(dataPath == .passthrough ? "passthrough" : "cached")),
      ] + (view.map { [("at", .string($0))] } ?? [])
        + (budgets.isEmpty ? [] : [("budgets", .array(budgets.map(\.json)))]))
  }

  public var text: String {
    let state =
      if let offlineSince { "offline since \(rfc3339(offlineSince))" } else { online ? "online" : "offline" }
    let asked =
      "\(requests.total) (\(requests.gets) get, \(requests.heads) head, \(requests.lists) list, \(requests.others) other), "
      + "\(requests.notModified) not modified, \(requests.failed) failed, \(ByteCount(requests.bytesReceived)) received"
    let used =
      "\(ByteCount(cacheBytes)) of \(ByteCount(cacheLimit)) in \(cachedObjects) objects, \(pinned) pinned: \(cacheDirectory)"
    var rows = [
      ("source", "\(source)\(view.map { ", as it was at \($0)," } ?? "") at \(endpoint)"),
      ("state", "\(state), mounted \(rfc3339(since)), process \(process)"),
      ("requests", asked),
      (
        "cost",
        "\(decimal(costSinceMount, places: 6)) USD since mount, \(decimal(costThisMonth, places: 6)) USD this month"
      ),
      ("served", "\(fetched) fetched, \(revalidated) revalidated, \(stale) stale, \(negative) absent"), ("cache", used),
    ]
    switch dataPath {
    case .passthrough: rows.append(("data path", "passthrough: the kernel reads whole files by itself"))
    case .cached(let reason?): rows.append(("data path", "cached, not passthrough: \(reason)"))
    case .cached(nil): break
    }
    if !budgets.isEmpty { rows.append(("budget", budgets.map(\.text).joined(separator: "; "))) }
    if hiddenKeys > 0 { rows.append(("hidden", "\(hiddenKeys) keys can't be files; see 's3mirror status --hidden'")) }
    return "\(mountPoint)\n" + rows.map { "  \(padded($0.0, to: 9)) \($0.1)\n" }.joined()
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

/// The text and blanks up to `width` characters.
public func padded(_ text: String, to width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}
