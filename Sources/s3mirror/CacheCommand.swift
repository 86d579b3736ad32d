// `cache`: what lies in a cache directory, whether or not a mount runs, and what may be done to it.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheCommand {
  static let details =
    "ls      the cached objects\n"
    + "stat    totals of each source\n"
    + "du      bytes on disk of each directory or object below PREFIX\n"
    + "verify  reads and checks every cached byte; exit code 9 when damage is found; with\n"
    + "        --repair damaged blocks are dropped, so that they are fetched anew\n"
    + "evict   deletes the copies of keys that begin with PREFIX, but those in use or pinned\n"
    + "gc      deletes what is of no use any more, and the copies least recently used that go\n"
    + "        beyond --cache-size or --min-free\n"
    + "export  writes what is cached whole as plain files into DIR, and says what it left out\n"
    + "pin     keeps all that lies in PATH, a file or directory in a mount, or all keys that\n"
    + "        begin with PREFIX: it is fetched, never evicted, and while mounted kept\n"
    + "        current; without a mount that begins with the next one\n"
    + "unpin   takes the pins away that begin so\n"
    + "pins    what is pinned\n"
    + "PREFIX may also be s3://BUCKET/PREFIX, and for ls a quoted pattern (* ? [a-z] **)."

  static let options = [
    ("--cache-dir DIR", "the cache directory (default: that of mount)"),
    ("--state STATE", "for ls: only what is fresh, stale, whole, partial, pinned or superseded"),
    ("--larger SIZE", "for ls: only objects of at least this size"),
    ("--smaller SIZE", "for ls: only objects of at most this size"),
    ("--sort ORDER", "for ls: by key, size, used or validated (default key)"),
    ("--reverse", "for ls: the other way round"),
    ("--limit NUMBER", "for ls: so many at most"),
    (
      "--freshness LIFETIME",
      "for ls: what freshFor is counted from (default 60s); a mount's own rules are not known here"
    ),
    ("--repair", "for verify: drop what is damaged"),
    ("--cache-size SIZE", "for gc: what the copies of each source may take on disk"),
    ("--min-free SIZE", "for gc: disk space to be left free"),
    ("--json", "for scripts: one object a line"),
  ]

  private static let names = "ls, stat, du, verify, evict, gc, export, pin, unpin or pins"

  private static let actions: [(name: String, run: @Sendable (CacheQuery) throws(CommandFailure) -> ExitCode)] = [
    ("ls", { (query) throws(CommandFailure) in try CacheListing.run(query) }),
    (
      "stat",
      { (query) throws(CommandFailure) in try query.reading { () throws(CacheError) in try CacheTotals.stat(query) } }
    ),
    (
      "du",
      { (query) throws(CommandFailure) in try query.reading { () throws(CacheError) in try CacheTotals.usage(query) } }
    ),
    ("verify", { (query) throws(CommandFailure) in try CacheCheck.verify(query) }),
    ("evict", { (query) throws(CommandFailure) in try CacheCare.evict(query) }),
    ("gc", { (query) throws(CommandFailure) in try CacheCare.collectGarbage(query) }),
    ("export", { (query) throws(CommandFailure) in try ExportCommand.run(query) }),
    (
      "pins",
      { (query) throws(CommandFailure) in try query.reading { () throws(CacheError) in try PinCommand.list(query) } }
    ),
  ]

  /// What may follow `cache`.
  static let words = actions.map(\.name) + ["pin", "unpin"]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(
      arguments, of: "cache", flags: ["json", "repair", "reverse"],
      values: ["cache-dir", "freshness", "cache-size", "min-free", "state", "larger", "smaller", "sort", "limit"])
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
    return try action.run(try CacheQuery(words, takesDirectory: first == "export"))
  }
}
