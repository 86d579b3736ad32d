// How long an answer of the origin may be used without asking again (RFC 9111 §4.2, RFC 5861).
import MirrorPlatform

/// A freshness lifetime.
public enum Lifetime: Hashable, Sendable, CustomStringConvertible {
  /// `always` (validate at every open) is a window of zero.
  case window(Duration)
  case forever
  /// What the object's own headers say.
  case origin

  /// `60s`, `always`, `forever`, `origin`; nil for anything else.
  public init?(parsing text: String) {
    switch text {
    case "always": self = .window(.zero)
    case "forever": self = .forever
    case "origin": self = .origin
    default:
      guard let duration = parseDuration(text) else { return nil }
      self = .window(duration)
    }
  }

  /// Longer than any mount.
  static let unending = Duration.seconds(1 << 32)
  /// Where neither a rule nor the object says.
  public static let usual = Duration.seconds(60)

  /// Of `origin`: that of objects that say nothing, where no other default is given.
  public var duration: Duration {
    switch self {
    case .window(let duration): duration
    case .forever: Self.unending
    case .origin: Self.usual
    }
  }

  public var description: String {
    switch self {
    case .window(.zero): "always"
    case .window(let duration): formatDuration(duration)
    case .forever: "forever"
    case .origin: "origin"
    }
  }
}

/// One rule: a lifetime, and what it says beside it; nil where the mount's own bounds hold.
public struct FreshnessRule: Hashable, Sendable {
  /// As it was written.
  public internal(set) var text: String
  /// Nil: for all paths.
  let glob: Glob?
  public let lifetime: Lifetime
  public internal(set) var staleWhileRevalidate: Duration?
  public internal(set) var staleIfError: Duration?
  /// How long a name that does not exist is taken to go on not existing.
  public internal(set) var negative: Duration?
  /// The lifetime of a directory's listing.
  public internal(set) var listing: Duration?

  init(_ text: String, _ glob: Glob?, _ lifetime: Lifetime) {
    self.text = text
    self.glob = glob
    self.lifetime = lifetime
  }

  var isForDirectories: Bool { glob?.isForDirectories ?? false }
}

/// Ordered rules, first match wins; what matches none has the default's.
public struct FreshnessRules: Sendable {
  private var fallback: FreshnessRule
  private var rules: [FreshnessRule] = []
  /// How long a name that does not exist is taken to go on not existing, where the rule does not say.
  public var negative: Duration = .seconds(5)
  /// How old a copy may be served while the origin can't be asked, where the rule does not say; nil: any age.
  public var staleIfError: Duration?
  /// How long past its lifetime a copy may be served while it is being validated, where the rule does not say; nil: not
  /// at all, unless the object itself allows it.
  public var staleWhileRevalidate: Duration?

  public init(`default`: Duration = Lifetime.usual) {
    let lifetime = Lifetime.window(`default`)
    fallback = FreshnessRule(lifetime.description, nil, lifetime)
  }

  /// For what can't change any more.
  public static var unending: FreshnessRules {
    var rules = FreshnessRules()
    rules.fallback = FreshnessRule(Lifetime.forever.description, nil, .forever)
    rules.negative = Lifetime.unending
    return rules
  }

  public var `default`: Lifetime { fallback.lifetime }

  /// Whether a rule as it is written is for all paths; nil where it can't be read.
  public static func isForAll(_ text: String) -> Bool? { (try? FreshnessRule(parsing: text)).map { $0.glob == nil } }

  /// Adds `LIFETIME` (the default) or `GLOB=LIFETIME`, each with its modifiers.
  public mutating func add(_ text: String) throws(RuleError) {
    let rule = try FreshnessRule(parsing: text)
    if rule.glob == nil { fallback = rule } else { rules.append(rule) }
  }

  /// The rule that decides for a file, or for the absence of one; paths are relative to the mount root.
  public func rule(of path: ArraySlice<UInt8>) -> FreshnessRule {
    rules.first { !$0.isForDirectories && $0.glob?.matches(path) ?? false } ?? fallback
  }

  /// The rule that decides for the listing of a directory: the root has rules for directories only.
  public func rule(ofDirectory path: ArraySlice<UInt8>) -> FreshnessRule {
    rules.first { ($0.isForDirectories || !path.isEmpty) && $0.glob?.matches(path) ?? false } ?? fallback
  }

  public func lifetime(of path: ArraySlice<UInt8>) -> Lifetime { rule(of: path).lifetime }

  // MARK: What a rule comes to

  /// For a file, as far as the object has no say.
  func terms(_ rule: FreshnessRule) -> FreshnessTerms {
    FreshnessTerms(
      lifetime: plainLifetime(rule), staleWhileRevalidate: rule.staleWhileRevalidate ?? staleWhileRevalidate,
      staleIfError: rule.staleIfError ?? staleIfError)
  }

  func negative(_ rule: FreshnessRule) -> Duration { rule.negative ?? negative }

  /// Listings say nothing of their freshness.
  func listingLifetime(_ rule: FreshnessRule) -> Duration { rule.listing ?? plainLifetime(rule) }

  func staleIfError(_ rule: FreshnessRule) -> Duration? { rule.staleIfError ?? staleIfError }

  private func plainLifetime(_ rule: FreshnessRule) -> Duration {
    rule.lifetime == .origin ? fallback.lifetime.duration : rule.lifetime.duration
  }

  /// Only the default: the path need not be built.
  var uniform: FreshnessRule? { rules.isEmpty ? fallback : nil }

  /// What objects say is worth keeping.
  var readsOrigin: Bool { fallback.lifetime == .origin || rules.contains { $0.lifetime == .origin } }
}
