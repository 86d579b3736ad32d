// `cache`: what lies in a cache directory, told by the directory alone.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheCommand {
  static let details =
    "ls      the cached objects\n"
    + "stat    totals of each source\n"
    + "du      bytes on disk of each directory or object below PREFIX\n"
    + "verify  reads and checks every cached byte; exit code 9 when damage is found\n"
    + "evict   deletes the copies of keys that begin with PREFIX, where no mount runs\n"
    + "gc      deletes what is of no use any more, and the copies least recently used that go\n"
    + "        beyond --cache-size or --min-free, where no mount runs\n"
    + "pin     keeps all that lies in PATH, a file or directory in a mount, or all keys that\n"
    + "        begin with PREFIX (also s3://BUCKET/PREFIX): it is fetched, never evicted, and\n"
    + "        while mounted kept current; without a mount that begins with the next one\n"
    + "unpin   takes the pins away that begin so\n"
    + "pins    what is pinned"

  static let options = [
    ("--cache-dir DIR", "the cache directory (default: that of mount)"),
    (
      "--freshness LIFETIME",
      "for ls: what freshFor is counted from (default 60s); a mount's own rules are not known here"
    ),
    ("--cache-size SIZE", "for gc: what the copies of each source may take on disk"),
    ("--min-free SIZE", "for gc: disk space to be left free"),
    ("--json", "for scripts: one object a line"),
  ]

  private static let names = "ls, stat, du, verify, evict, gc, pin, unpin or pins"

  private static let actions: [(name: String, run: @Sendable (CacheQuery) throws(CacheError) -> ExitCode)] = [
    ("ls", { (query) throws(CacheError) in try CacheListing.run(query) }),
    ("stat", { (query) throws(CacheError) in try CacheTotals.stat(query) }),
    ("du", { (query) throws(CacheError) in try CacheTotals.usage(query) }),
    ("verify", { (query) throws(CacheError) in try CacheCare.verify(query) }),
    ("evict", { (query) throws(CacheError) in try CacheCare.evict(query) }),
    ("gc", { (query) throws(CacheError) in try CacheCare.collectGarbage(query) }),
    ("pins", { (query) throws(CacheError) in try PinCommand.list(query) }),
  ]

  /// What may follow `cache`.
  static let words = actions.map(\.name) + ["pin", "unpin"]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(
      arguments, of: "cache", flags: ["json"], values: ["cache-dir", "freshness", "cache-size", "min-free"])
    guard let first = words.positionals.first.map({ String(decoding: $0, as: UTF8.self) }) else {
      throw CommandFailure(.usage, "say what about the cache: \(names)")
    }
    if first == "pin" || first == "unpin" { return try PinCommand.run(words, pins: first == "pin") }
    guard let action = actions.first(where: { $0.name == first }) else {
      let hint = suggestion(for: first, among: actions.map(\.name) + ["pin", "unpin"])
      throw CommandFailure(
        .usage, "there is no 'cache \(first)'" + (hint.isEmpty ? "; it is \(names)" : hint))
    }
    if first == "gc", words.positionals.count > 1 {
      throw CommandFailure(.usage, "'cache gc' is for whole caches and takes no prefix; see 's3mirror help cache'")
    }
    let query = try CacheQuery(words)
    do throws(CacheError) { return try action.run(query) } catch { throw CommandFailure(error) }
  }
}

/// What a cache command is about, and how it is to be told.
struct CacheQuery {
  let inspector: CacheInspector
  let prefix: ObjectKey
  let json: Bool
  let lifetime: Duration
  let limits: CacheLimits

  init(_ words: Words) throws(CommandFailure) {
    guard words.positionals.count <= 2 else {
      throw CommandFailure(.usage, "too many arguments; see 's3mirror help cache'")
    }
    inspector = CacheInspector(root: words.values["cache-dir"].map(absolutePath) ?? defaultCacheDirectory())
    prefix = ObjectKey(words.positionals.count == 2 ? words.positionals[1] : [])
    json = words.flags.contains("json")
    limits = CacheLimits(size: try Self.size(words, "cache-size"), minimumFree: try Self.size(words, "min-free"))
    switch words.values["freshness"] {
    case nil: lifetime = .seconds(60)
    case "always": lifetime = .zero
    case "forever": lifetime = .seconds(1 << 32)
    case let text?:
      guard let duration = parseDuration(text) else {
        throw CommandFailure(.usage, "option '--freshness \(text)': a duration, 'always' or 'forever'")
      }
      lifetime = duration
    }
  }

  private static func size(_ words: Words, _ name: String) throws(CommandFailure) -> Int64? {
    guard let text = words.values[name] else { return nil }
    guard let size = ByteCount(parsing: text) else {
      throw CommandFailure(.usage, "option '--\(name) \(text)': a size such as 500M or 10GiB")
    }
    return size.bytes
  }

  /// One line of JSON, or text.
  func say(_ object: JSON, _ text: String) { emit((json ? object.text : text) + "\n") }

  /// A heading that tells sources apart, where there are several.
  func head(_ source: CachedSource, of sources: [CachedSource]) {
    if !json && sources.count > 1 { emit("\(source.name)\n") }
  }
}

extension CachedSource {
  var name: String {
    let view = identity.view.map { ", as it was at \($0)," } ?? ""
    return quoted("s3://\(identity.bucket)/\(identity.prefix)\(view) at \(identity.endpoint)")
  }
}
