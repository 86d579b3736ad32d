// The screen of `top`: lines of text out of two looks at the mounts, never wider or higher than the terminal.
public import MirrorPlatform

public struct TopScreen: Sendable {
  /// The latest look, and the one before it; rates are those in between, or since the mount where there was none.
  public let mounts: [MountSample]
  public let before: [MountSample]
  public let wall: WallTime

  public init(_ mounts: [MountSample], before: [MountSample], wall: WallTime) {
    self.mounts = mounts
    self.before = before
    self.wall = wall
  }

  public func lines(width: Int, height: Int) -> [String] {
    let (width, height) = (max(width, 20), max(height, 4))
    var lines = [heading(width), ""]
    if mounts.isEmpty {
      lines.append("nothing is mounted")
    } else if mounts.count == 1 {
      lines += detail(mounts[0], width)
    } else {
      lines += table
    }
    lines += transfers(width, room: height - lines.count)
    return lines.prefix(height).map { Self.withoutTail(Self.cut($0, to: width)) }
  }

  private func heading(_ width: Int) -> String {
    let (left, right) = ("s3mirror top  \(rfc3339(wall))", "q leaves")
    return left + flushRight(right, to: max(right.count + 2, width - left.count))
  }

  private func rates(_ mount: MountSample) -> MountRates {
    MountRates(mount, before: before.first { $0.mountPoint == mount.mountPoint && $0.process == mount.process }, wall)
  }

  // MARK: One mount

  private func detail(_ mount: MountSample, _ width: Int) -> [String] {
    let rates = rates(mount)
    let share = mount.cacheLimit > 0 ? Double(mount.cacheBytes) / Double(mount.cacheLimit) : 0
    var lines = [
      quoted(mount.mountPoint) + "  " + quoted(mount.source) + " at " + mount.endpoint,
      state(mount) + ", mounted \(age(mount.since)) ago, process \(mount.process)", "",
      row("hits", percent(rates.hits), Self.bar(rates.hits ?? 0, width: 20), "\(number(rates.perSecond(\.hits)))/s"),
      row("requests", "\(number(rates.requests))/s", kinds(mount, rates)),
      row("received", "\(ByteCount(Int64(rates.received)))/s", "\(ByteCount(mount.received)) since mount"),
      row(
        "cost", "\(decimal(rates.cost * 3600, places: 4))/h",
        "USD; \(usd(mount.costSinceMount)) since mount, \(usd(mount.costThisMonth)) this month"),
      row(
        "cache", percent(share), Self.bar(share, width: 20),
        "\(ByteCount(mount.cacheBytes)) of \(ByteCount(mount.cacheLimit))"),
      row("", "", "\(mount.objects) objects, \(mount.inUse) in use"),
    ]
    for budget in mount.budgets {
      lines.append(row("budget", percent(budget.share), Self.bar(budget.share, width: 20), "of \(budget.limit)"))
    }
    func served(_ name: String) -> Int64 { mount.served[name] ?? 0 }
    lines.append(row("served", "", "\(served("fresh")) fresh, \(served("stale")) stale, \(served("negative")) absent"))
    lines.append(row("", "", "\(served("revalidated")) revalidated, \(served("fetched")) fetched"))
    return lines
  }

  private func kinds(_ mount: MountSample, _ rates: MountRates) -> String {
    func count(_ name: String) -> Int64 { mount.requests[name] ?? 0 }
    return "\(count("get")) get, \(count("head")) head, \(count("list")) list; \(count("failed")) failed, "
      + "\(mount.retries) retries"
  }

  private func row(_ label: String, _ figure: String, _ rest: String...) -> String {
    padded(label, to: 10) + flushRight(figure, to: 12) + "  " + rest.joined(separator: " ")
  }

  // MARK: Several mounts

  private var table: [String] {
    let head =
      padded("MOUNT", to: 24) + padded("STATE", to: 13) + flushRight("HITS", to: 7) + flushRight("REQ/S", to: 8)
      + flushRight("RECV/S", to: 11) + flushRight("USD/H", to: 9) + flushRight("CACHE", to: 7)
    return [head]
      + mounts.map { mount in
        let rates = rates(mount)
        let share = mount.cacheLimit > 0 ? Double(mount.cacheBytes) / Double(mount.cacheLimit) : 0
        return padded(Self.cut(quoted(mount.mountPoint), to: 23), to: 24)
          + padded(mount.isOnline ? "online" : "offline \(age(mount.offlineSince))", to: 13)
          + flushRight(percent(rates.hits), to: 7) + flushRight(number(rates.requests), to: 8)
          + flushRight("\(ByteCount(Int64(rates.received)))", to: 11)
          + flushRight(decimal(rates.cost * 3600, places: 4), to: 9) + flushRight(percent(share), to: 7)
      }
  }

  // MARK: What is under way

  private func transfers(_ width: Int, room: Int) -> [String] {
    let all = mounts.flatMap(\.transfers)
    guard room >= 3, !all.isEmpty else { return [] }
    let fit = all.count <= room - 2 ? all.count : room - 3
    var lines = ["", "UNDER WAY"]
    for transfer in all.prefix(fit) { lines.append(line(transfer, width)) }
    if fit < all.count { lines.append("… and \(all.count - fit) more") }
    return lines
  }

  private func line(_ transfer: MountSample.Transfer, _ width: Int) -> String {
    let share = transfer.expected.map { $0 > 0 ? Double(transfer.received) / Double($0) : 1 }
    let progress =
      if let share, let expected = transfer.expected {
        Self.bar(share, width: 20) + flushRight(percent(share), to: 9)
          + flushRight("\(ByteCount(expected))", to: 12)
      } else { padded("waiting", to: 43) }
    let name = padded(transfer.kind, to: 5) + quoted(transfer.key)
    let room = max(10, width - 45)
    return padded(Self.cut(name, to: room), to: room) + "  " + progress
  }

  // MARK: Words

  private func state(_ mount: MountSample) -> String {
    mount.isOnline ? "online" : "OFFLINE for \(age(mount.offlineSince))"
  }

  private func age(_ time: Int64?) -> String {
    guard let time else { return "?" }
    return formatDuration(.seconds(max(0, wall.seconds - time)))
  }

  private func percent(_ share: Double?) -> String { share.map { "\(decimal($0 * 100, places: 1)) %" } ?? "-" }
  private func number(_ value: Double) -> String { decimal(value, places: value < 100 ? 1 : 0) }
  private func usd(_ value: Double) -> String { decimal(value, places: value < 1 ? 6 : 2) }

  private static func withoutTail(_ line: String) -> String {
    var line = line
    while line.last == " " { line.removeLast() }
    return line
  }

  static func bar(_ share: Double, width: Int) -> String {
    let filled = max(0, min(width, Int(share * Double(width))))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
  }

  static func cut(_ text: String, to width: Int) -> String {
    text.count <= width ? text : text.prefix(width - 1) + "…"
  }
}
