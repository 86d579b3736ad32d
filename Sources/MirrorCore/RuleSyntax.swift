// Freshness rules as they are written: `[GLOB=]LIFETIME[,NAME=VALUE…]`.
import MirrorPlatform

/// A freshness rule that can't be read.
public struct RuleError: Error, Sendable, CustomStringConvertible {
  public let message: String
  public var description: String { message }

  init(_ part: some StringProtocol, _ problem: String) { message = "'\(part)': \(problem)" }
}

private let durations = "a duration (500ms, 60s, 15m, 1h, 7d)"

extension FreshnessRule {
  init(parsing text: String) throws(RuleError) {
    let (head, modifiers) = Self.split(text)
    let parts = head.split(separator: "=", omittingEmptySubsequences: false)
    guard let last = parts.last, let lifetime = Lifetime(parsing: String(last)) else {
      throw RuleError(head, "the lifetime must be \(durations), 'always', 'forever' or 'origin'")
    }
    let pattern = parts.dropLast().joined(separator: "=")
    if parts.count > 1, pattern.isEmpty { throw RuleError(head, "a pattern is missing before '='") }
    self.init(text, parts.count > 1 ? Glob(pattern) : nil, lifetime)
    if isForDirectories, lifetime == .origin {
      throw RuleError(
        head,
        "a pattern that ends in '/' names directories, and listings have no headers: a duration, 'always' or 'forever'"
      )
    }
    for modifier in modifiers { try take(modifier) }
  }

  private enum Modifier: String, CaseIterable {
    case staleWhileRevalidate = "stale-while-revalidate"
    case staleIfError = "stale-if-error"
    case negative, listing

    init?(_ name: some StringProtocol) {
      switch name {
      case "swr": self = .staleWhileRevalidate
      case "sie": self = .staleIfError
      default: self.init(rawValue: String(name))
      }
    }

    var field: WritableKeyPath<FreshnessRule, Duration?> {
      switch self {
      case .staleWhileRevalidate: \.staleWhileRevalidate
      case .staleIfError: \.staleIfError
      case .negative: \.negative
      case .listing: \.listing
      }
    }
  }

  /// The head ends at the first comma after its `=`; one without `=` is a lifetime alone. So a pattern may hold commas.
  private static func split(_ text: String) -> (head: Substring, modifiers: [Substring]) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let isModifier = { (part: Substring) in Modifier(part.prefix { $0 != "=" }) != nil }
    let head =
      Lifetime(parsing: String(parts[0])) != nil
      ? 0 : parts.firstIndex { $0.contains("=") && ($0 == parts[0] || !isModifier($0)) } ?? 0
    return (parts[...head].isEmpty ? text[...] : text[..<parts[head].endIndex], Array(parts[(head + 1)...]))
  }

  private mutating func take(_ part: Substring) throws(RuleError) {
    let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let modifier = Modifier(words[0]) else {
      throw RuleError(
        part,
        "after the lifetime come stale-while-revalidate= (swr=), stale-if-error= (sie=), negative= or listing=")
    }
    if isForDirectories, modifier != .staleIfError {
      throw RuleError(
        part, "a pattern that ends in '/' names directories: beside the lifetime it takes stale-if-error only")
    }
    guard self[keyPath: modifier.field] == nil else { throw RuleError(part, "\(modifier.rawValue) is given twice") }
    switch (words[1], modifier) {
    case ("forever", _): self[keyPath: modifier.field] = Lifetime.unending
    case ("always", .listing): self[keyPath: modifier.field] = .zero
    case (let value, _):
      guard let duration = parseDuration(String(value)) else {
        let others = modifier == .listing ? ", 'always' or 'forever'" : " or 'forever'"
        throw RuleError(part, "\(modifier.rawValue) must be \(durations)\(others)")
      }
      self[keyPath: modifier.field] = duration
    }
  }
}
