// `cache ls`.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheListing {
  static func run(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    let now = SystemClock().wall()
    let sources = try query.inspector.sources()
    for source in sources {
      query.head(source, of: sources)
      try query.inspector.forEachObject(of: source, under: query.prefix) { object in
        let rest = remaining(object, query.lifetime, now)
        query.say(json(object, rest), row(object, rest))
      }
    }
    return .done
  }

  /// Nil for a copy that was marked stale, too.
  private static func validated(_ object: CachedObject) -> WallTime? {
    object.validated.flatMap { $0.milliseconds > 0 ? $0 : nil }
  }

  /// Seconds that a copy is still fresh; none where the stamp lies in the future: that clock can't be trusted.
  private static func remaining(_ object: CachedObject, _ lifetime: Duration, _ now: WallTime) -> Int64 {
    guard let validated = validated(object), validated <= now else { return 0 }
    return max(0, (lifetime - (now - validated)).nanosecondsClamped / 1_000_000_000)
  }

  private static func json(_ object: CachedObject, _ rest: Int64) -> JSON {
    .object([
      keyMember(object.key), ("size", .int(object.size)), ("cachedBytes", .int(object.cachedBytes)),
      ("etag", object.etag.map { .string($0.description) } ?? .null),
      ("lastModified", object.lastModified.map { .string(Timestamp(seconds: $0).rfc3339) } ?? .null),
      ("validated", validated(object).map { .string(Timestamp(seconds: $0.seconds).rfc3339) } ?? .null),
      ("freshFor", .int(rest)), ("complete", .bool(object.isComplete)), ("pinned", .bool(object.isPinned)),
    ])
  }

  private static func row(_ object: CachedObject, _ rest: Int64) -> String {
    let part = object.isComplete ? "whole" : "\(ByteCount(object.cachedBytes)) cached"
    let state = rest > 0 ? "fresh \(formatDuration(.seconds(rest)))" : "stale"
    return padded("\(ByteCount(object.size))", to: 11) + padded(part, to: 18) + padded(state, to: 11)
      + (object.isPinned ? "pinned " : "") + quoted(object.key.description)
  }
}
