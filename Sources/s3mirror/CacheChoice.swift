// Which of the cached objects are listed, and in which order.
import MirrorCache
import MirrorCore
import MirrorDaemon
import MirrorPlatform
import MirrorStore

struct CacheChoice {
  enum State: String, CaseIterable { case fresh, stale, whole, partial, pinned, superseded }
  private static let orders: [(String, CacheInspector.Order)] = [
    ("key", .key), ("size", .size), ("used", .leastRecentlyUsed), ("validated", .validated),
  ]

  /// What all of them begin with.
  let prefix: ObjectKey
  let order: CacheInspector.Order
  let isReversed: Bool
  let limit: Int?
  private let pattern: KeyPattern?
  private let states: [State]
  private let sizes: ClosedRange<Int64>
  private let lifetime: Duration
  private let now = SystemClock().wall()

  init(_ query: CacheQuery) throws(CommandFailure) {
    let words = query.words
    pattern = KeyPattern(query.prefix)
    prefix = pattern?.literal ?? query.prefix
    var states: [State] = []
    for name in words.lists["state"] ?? [] {
      guard let state = State(rawValue: name) else {
        let names = State.allCases.map(\.rawValue)
        throw CommandFailure(
          .usage,
          "option '--state \(name)': it is one of \(names.joined(separator: ", "))"
            + suggestion(for: name, among: names))
      }
      states.append(state)
    }
    self.states = states
    let name = words.values["sort"] ?? "key"
    guard let order = Self.orders.first(where: { $0.0 == name })?.1 else {
      let names = Self.orders.map(\.0)
      throw CommandFailure(
        .usage,
        "option '--sort \(name)': it is one of \(names.joined(separator: ", "))"
          + suggestion(for: name, among: names))
    }
    self.order = order
    isReversed = words.flags.contains("reverse")
    limit = try words.values["limit"].map { (text) throws(CommandFailure) in
      guard let limit = Int(text), limit > 0 else {
        throw CommandFailure(.usage, "option '--limit \(text)': it is a number from 1 on")
      }
      return limit
    }
    let least = try CacheQuery.size(words, "larger") ?? 0
    sizes = least...max(least, try CacheQuery.size(words, "smaller") ?? .max)
    lifetime = try Self.lifetime(words)
  }

  private static func lifetime(_ words: Words) throws(CommandFailure) -> Duration {
    switch words.values["freshness"] {
    case nil: return .seconds(60)
    case "always": return .zero
    case "forever": return .seconds(1 << 32)
    case let text?:
      guard let duration = parseDuration(text) else {
        throw CommandFailure(.usage, "option '--freshness \(text)': a duration, 'always' or 'forever'")
      }
      return duration
    }
  }

  func takes(_ object: CachedObject) -> Bool {
    sizes.contains(object.size) && pattern?.matches(object.key) ?? true && states.allSatisfy { has(object, $0) }
  }

  private func has(_ object: CachedObject, _ state: State) -> Bool {
    switch state {
    case .fresh: freshFor(object) > 0
    case .stale: object.validated != nil && freshFor(object) == 0
    case .whole: object.isComplete
    case .partial: !object.isComplete
    case .pinned: object.isPinned
    case .superseded: object.validated == nil
    }
  }

  /// Nil for a copy that was marked stale, too.
  func validated(_ object: CachedObject) -> WallTime? {
    object.validated.flatMap { $0.milliseconds > 0 ? $0 : nil }
  }

  /// Seconds that a copy is still fresh; none where the stamp lies in the future: that clock can't be trusted.
  func freshFor(_ object: CachedObject) -> Int64 {
    guard let validated = validated(object), validated <= now else { return 0 }
    return max(0, (lifetime - (now - validated)).nanosecondsClamped / 1_000_000_000)
  }
}
