// What `status` says of one mount to people.
import MirrorFUSE
import MirrorPlatform
import MirrorStore

extension StatusReport {
  public var text: String {
    var rows = [
      ("source", "\(quoted(source))\(view.map { ", as it was at \($0)," } ?? "") at \(endpoint)"), ("state", state),
      ("requests", asked), ("cost", cost),
      ("served", served), ("cache", cache),
    ]
    switch dataPath {
    case .passthrough: rows.append(("data path", "passthrough: the kernel reads whole files by itself"))
    case .cached(let reason?): rows.append(("data path", "cached, not passthrough: \(reason)"))
    case .cached(nil): break
    }
    if !budgets.isEmpty { rows.append(("budget", budgets.map(\.text).joined(separator: "; "))) }
    if let events { rows.append(("events", events.text)) }
    if !traffic.underWay.isEmpty { rows.append(("under way", underWay)) }
    if hiddenKeys > 0 { rows.append(("hidden", "\(hiddenKeys) keys can't be files; see 's3mirror keys --hidden'")) }
    if let metrics { rows.append(("metrics", metrics)) }
    return "\(quoted(mountPoint))\n" + rows.map { "  \(padded($0.0, to: 9)) \($0.1)\n" }.joined()
  }

  private var state: String {
    let state =
      if let offlineSince { "offline since \(rfc3339(offlineSince))\(age(offlineSince))" } else {
        online ? "online" : "offline"
      }
    return "\(state), mounted \(rfc3339(since))\(age(since)), process \(process)"
  }

  private func age(_ time: WallTime) -> String { wall.map { " (\(formatDuration(max(.zero, $0 - time))))" } ?? "" }

  private var asked: String {
    "\(requests.total) (\(requests.gets) get, \(requests.heads) head, \(requests.lists) list, \(requests.others) other), "
      + "\(requests.notModified) not modified, \(requests.failed) failed, "
      + (traffic.retries > 0 ? "\(traffic.retries) retries, " : "") + "\(ByteCount(requests.bytesReceived)) received"
  }

  private var cost: String {
    "\(decimal(costSinceMount, places: 6)) USD since mount, \(decimal(costThisMonth, places: 6)) USD this month"
  }

  private var served: String {
    "\(fresh) fresh, \(fetched) fetched, \(revalidated) revalidated, \(stale) stale, \(negative) absent"
  }

  private var cache: String {
    let share = cacheLimit > 0 ? " (\(decimal(Double(cacheBytes) / Double(cacheLimit) * 100, places: 0)) %)" : ""
    return "\(ByteCount(cacheBytes)) of \(ByteCount(cacheLimit))\(share) in \(cachedObjects) objects, "
      + "\(pinned) in use: \(quoted(cacheDirectory))"
  }

  private var underWay: String {
    let counts = RequestKind.allCases.compactMap { kind -> String? in
      let count = traffic.underWay.count { $0.kind == kind }
      return count > 0 ? "\(count) \(kind.rawValue)" : nil
    }
    let bytes: Int64 = traffic.underWay.reduce(0) { $0.addingSaturating(max(0, ($1.expected ?? 0) - $1.received)) }
    return counts.joined(separator: ", ") + (bytes > 0 ? ", \(ByteCount(bytes)) to come" : "")
  }
}

/// The text and blanks up to `width` characters.
public func padded(_ text: String, to width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

/// Blanks up to `width` characters and the text.
public func flushRight(_ text: String, to width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
