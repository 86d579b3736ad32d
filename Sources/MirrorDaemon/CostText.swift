// `cost` for people: sums, what to expect, and bars, 80 columns wide.
import MirrorPlatform
import MirrorStore

extension CostReport {
  static let width = 80
  private static let manyPrefixes = 20

  public func text(_ question: CostQuestion) -> String {
    var lines = [quoted("\(source) at \(endpoint)") + (running.map { ", mounted on \(quoted($0.mountPoint))" } ?? "")]
    if entries.isEmpty {
      lines.append("  no request in the last 31 days")
    } else {
      lines += row("today", sums(today)) + row("this month", sums(monthToDate)) + row("expected", expected)
    }
    if let running { lines += row("saved", saving(running)) }
    if question.project { lines += row("at this rate", projected) }
    if question.order != .prefix { lines += dayChart }
    if question.order != .day { lines += prefixChart }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A label and a text beside it, broken between words.
  private func row(_ label: String, _ text: String) -> [String] {
    let indent = 15
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, indent + last.count + 1 + word.count <= Self.width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.enumerated().map { padded($0.offset == 0 ? "  \(label)" : "", to: indent) + $0.element }
  }

  private func sums(_ counts: RequestCounts) -> String {
    let free = counts.total - counts.billed
    return "\(usd(counts.cost(prices))) USD: \(counts.gets) GET (\(counts.notModified) not modified), "
      + "\(counts.heads) HEAD, \(counts.lists) LIST, "
      + (counts.others > 0 ? "\(counts.others) other, " : "") + (free > 0 ? "\(free) of them free, " : "")
      + "\(ByteCount(counts.bytesReceived)) received"
  }

  private var expected: String {
    guard let projection else { return "not known yet: that takes a whole day, or a minute of a running mount" }
    return "\(usd(projection.cost)) USD for \(BillingMonth(at: now).name), going \(projection.basis.text)"
  }

  private func saving(_ running: Running) -> String {
    "\(usd(saved ?? 0)) USD since \(rfc3339(running.since)): \(running.unasked) look-ups answered without a request, at "
      + "one GET each; those that the kernel answers are not seen and not counted"
  }

  private var projected: String {
    guard let running else { return "not known: nothing is mounted from here" }
    func month(_ measured: MeasuredRequests) -> String {
      guard let cost = measured.cost(of: Self.month, prices), let requests = measured.requests(in: Self.month) else {
        return "not known yet"
      }
      return "\(usd(cost)) USD, \(decimal(requests, places: 0)) requests in 30 days"
    }
    let all = month(running.sinceMount) + ", going by the \(formatDuration(running.sinceMount.span)) since mount"
    if running.recent.span >= running.sinceMount.span { return all }
    return all + "; " + month(running.recent) + ", going by the last \(formatDuration(running.recent.span))"
  }
}

// MARK: Charts
extension CostReport {
  private var dayChart: [String] {
    let rows = days.map { (Timestamp(seconds: $0.day * 86400).rfc3339.prefix(10).description, $0.counts) }
    return chart("USD by day", rows)
  }

  private var prefixChart: [String] {
    let all = prefixes
    var rows = all.prefix(Self.manyPrefixes).map { (Self.name($0.prefix), $0.counts) }
    let others = all.dropFirst(Self.manyPrefixes)
    if !others.isEmpty {
      rows.append(("\(others.count) more", others.reduce(RequestCounts()) { $0 + $1.counts }))
    }
    return chart("USD by prefix, last 31 days", rows)
  }

  /// What stands for a prefix in a chart.
  private static func name(_ prefix: ObjectKey) -> String {
    if prefix.bytes.isEmpty { return "(top)" }
    if prefix == LedgerEntry.rest { return "(others)" }
    let name = quoted(prefix.description)
    return name.count <= 30 ? name : name.prefix(29) + "…"
  }

  private func chart(_ heading: String, _ rows: [(label: String, counts: RequestCounts)]) -> [String] {
    if rows.isEmpty { return [] }
    let costs = rows.map { $0.counts.cost(prices) }
    let most = costs.max() ?? 0
    let places = Self.places(most)
    let labels = rows.map(\.label.count).max() ?? 0
    let figures = zip(rows, costs).map { (decimal($1, places: places), "\($0.counts.total)") }
    let columns = (figures.map(\.0.count).max() ?? 0, figures.map(\.1.count).max() ?? 0)
    let room = Self.width - 2 - labels - 2 - columns.0 - 2 - columns.1 - " requests".count - 2
    let lines = rows.indices.map { index in
      "  " + padded(rows[index].label, to: labels) + "  " + Self.right(figures[index].0, columns.0) + "  "
        + Self.right(figures[index].1, columns.1) + " requests"
        + (most > 0 ? Self.bar(costs[index] / most * Double(room)) : "")
    }
    return ["", "  \(heading)"] + lines
  }

  /// A bar so many columns long, to an eighth of one; something is always seen of what is not nothing.
  private static func bar(_ length: Double) -> String {
    let eighths = length > 0 ? max(1, Int((length * 8).rounded())) : 0
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
    let bar = String(repeating: "█", count: eighths / 8) + partial
    return bar.isEmpty ? "" : "  " + bar
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func places(_ usd: Double) -> Int { usd < 1 ? 6 : usd < 100 ? 4 : 2 }
  private func usd(_ value: Double) -> String { decimal(value, places: Self.places(value)) }
}
