// `cache ls`.
import MirrorCache
import MirrorCore
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheListing {
  static func run(_ query: CacheQuery) throws(CommandFailure) -> ExitCode {
    let choice = try CacheChoice(query)
    try query.reading { () throws(CacheError) in
      let sources = try query.sources()
      for source in sources {
        query.head(source, of: sources)
        try list(query, choice, source)
      }
    }
    return .done
  }

  private static func list(_ query: CacheQuery, _ choice: CacheChoice, _ source: CachedSource) throws(CacheError) {
    // What is sorted backwards or cut short is collected first; all else is told as it is read.
    var collected: [CachedObject] = []
    let isPlain = !choice.isReversed && choice.limit == nil
    let show = { (object: CachedObject) in
      let rest = choice.freshFor(object)
      query.say(json(object, rest, choice), row(object, rest, choice))
    }
    try query.inspector.forEachObject(of: source, under: choice.prefix, by: choice.order) { object in
      guard choice.takes(object) else { return }
      if isPlain { show(object) } else { collected.append(object) }
    }
    if choice.isReversed { collected.reverse() }
    for object in collected.prefix(choice.limit ?? .max) { show(object) }
  }

  private static func json(_ object: CachedObject, _ rest: Int64, _ choice: CacheChoice) -> JSON {
    .object([
      keyMember(object.key), ("size", .int(object.size)), ("cachedBytes", .int(object.cachedBytes)),
      ("etag", object.etag.map { .string($0.description) } ?? .null),
      ("lastModified", object.lastModified.map { .string(Timestamp(seconds: $0).rfc3339) } ?? .null),
      ("validated", choice.validated(object).map { .string(Timestamp(seconds: $0.seconds).rfc3339) } ?? .null),
      ("freshFor", .int(rest)), ("complete", .bool(object.isComplete)), ("pinned", .bool(object.isPinned)),
    ])
  }

  private static func row(_ object: CachedObject, _ rest: Int64, _ choice: CacheChoice) -> String {
    let part = object.isComplete ? "whole" : "\(ByteCount(object.cachedBytes)) cached"
    let state =
      object.validated == nil ? "superseded" : rest > 0 ? "fresh \(formatDuration(.seconds(rest)))" : "stale"
    return padded("\(ByteCount(object.size))", to: 11) + padded(part, to: 18) + padded(state, to: 11)
      + (object.isPinned ? "pinned " : "") + quoted(object.key.description)
  }
}
