// How long an answer of the origin may be used without asking again (RFC 9111 §4.2, RFC 5861).
import MirrorPlatform

/// A freshness lifetime.
public enum Lifetime: Hashable, Sendable, CustomStringConvertible {
  /// `always` (validate at every open) is a window of zero.
  case window(Duration)
  case forever

  /// `60s`, `always`, `forever`; nil for anything else.
  public init?(parsing text: String) {
    switch text {
    case "always": self = .window(.zero)
    case "forever": self = .forever
    default:
      guard let duration = parseDuration(text) else { return nil }
      self = .window(duration)
    }
  }

  public var duration: Duration {
    switch self {
    case .window(let duration): duration
    case .forever: .seconds(1 << 32)
    }
  }

  public var description: String {
    switch self {
    case .window(.zero): "always"
    case .window(let duration): formatDuration(duration)
    case .forever: "forever"
    }
  }
}

/// A freshness rule that can't be read.
public struct RuleError: Error, Sendable, CustomStringConvertible {
  public let message: String
  public var description: String { message }
}

/// Ordered rules, first match wins; what matches none has the default lifetime.
public struct FreshnessRules: Sendable {
  public private(set) var `default`: Lifetime
  private var rules: [(glob: Glob, lifetime: Lifetime)] = []
  /// How long a name that does not exist is taken to go on not existing.
  public var negative: Duration = .seconds(5)
  /// How old a copy may be served while the origin can't be asked; nil: any age.
  public var staleIfError: Duration?
  /// How long past its lifetime a copy may be served while it is being validated.
  public var staleWhileRevalidate: Duration = .zero

  public init(`default`: Duration = .seconds(60)) { self.default = .window(`default`) }

  /// Adds `LIFETIME` (the default) or `GLOB=LIFETIME`.
  public mutating func add(_ text: String) throws(RuleError) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard let last = parts.last, let lifetime = Lifetime(parsing: String(last)) else {
      throw RuleError(
        message: "'\(text)': the lifetime must be a duration (500ms, 60s, 15m, 1h, 7d), 'always' or 'forever'")
    }
    let glob = parts.dropLast().joined(separator: "=")
    if parts.count == 1 {
      self.default = lifetime
    } else if glob.isEmpty {
      throw RuleError(message: "'\(text)': a pattern is missing before '='")
    } else {
      rules.append((Glob(glob), lifetime))
    }
  }

  /// The lifetime of a path relative to the mount root.
  public func lifetime(of path: ArraySlice<UInt8>) -> Lifetime { rule(of: path).lifetime }

  /// The rule that decides for a path, as it was written.
  public func rule(of path: ArraySlice<UInt8>) -> (text: String, lifetime: Lifetime) {
    for rule in rules where rule.glob.matches(path) { return ("\(rule.glob.text)=\(rule.lifetime)", rule.lifetime) }
    return (`default`.description, `default`)
  }

  /// No rule but the default: the path need not be built.
  var isUniform: Bool { rules.isEmpty }
}
