// `cache pin`, `unpin` and `pins`: told to the mount where one runs, else only written into the cache.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum PinCommand {
  static func run(_ words: Words, pins: Bool) throws(CommandFailure) -> ExitCode {
    let name = pins ? "pin" : "unpin"
    guard words.positionals.count == 2, !words.positionals[1].isEmpty else {
      throw CommandFailure(.usage, "usage: s3mirror cache \(name) PATH|PREFIX; see 's3mirror help cache'")
    }
    let argument = words.positionals[1]
    if let url = BucketPrefix(argument) { return try pin(url.bucket, url.prefix, words, pins) }
    if words.values["cache-dir"] == nil {
      do throws(CommandFailure) {
        let (mount, path) = try RunningMounts.containing(argument)
        return try ask(mount, .path(path), pins)
      } catch { if error.code != .notMounted || argument.first == 0x2F { throw error } }
    }
    return try pin(nil, ObjectKey(argument), words, pins)
  }

  static func list(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    let sources = try query.sources()
    for source in sources {
      query.head(source, of: sources)
      for pin in try query.inspector.pins(of: source) where pin.bytes.starts(with: query.prefix.bytes) {
        query.say(
          .object([keyMember(pin), ("directory", .string(source.directory))]), quoted(pin.description))
      }
    }
    return .done
  }

  /// By the beginning of keys, in the one source that is meant.
  private static func pin(
    _ bucket: String?, _ prefix: ObjectKey, _ words: Words, _ pins: Bool
  ) throws(CommandFailure) -> ExitCode {
    let root = words.values["cache-dir"].map(absolutePath) ?? defaultCacheDirectory()
    let inspector = CacheInspector(root: root)
    let all: [CachedSource]
    do throws(CacheError) { all = try inspector.sources() } catch { throw CommandFailure(error) }
    let sources = all.filter { source in
      (bucket ?? source.identity.bucket) == source.identity.bucket
        && (prefix.bytes.starts(with: source.identity.prefix.bytes)
          || source.identity.prefix.bytes.starts(with: prefix.bytes))
    }
    guard let source = sources.first else {
      throw CommandFailure(.failure, "nothing like that was ever cached in '\(root)'")
    }
    guard sources.count == 1 else {
      throw CommandFailure(
        .usage, "which of \(sources.map(\.name).joined(separator: ", "))? Name a path in a mount, or s3://BUCKET/PREFIX"
      )
    }
    if let mount = try source.mount() { return try ask(mount, .prefix(prefix), pins) }
    let count: Int
    do throws(CacheError) { count = try write(inspector, source, prefix, pins) } catch { throw CommandFailure(error) }
    if !pins, count == 0 {
      throw CommandFailure(.failure, "\(quoted("'\(prefix)'")) is not pinned; see 's3mirror cache pins'")
    }
    emit(
      pins
        ? "pinned \(quoted("'\(prefix)'")); it is fetched when it is mounted\n"
        : "\(count) \(count == 1 ? "pin" : "pins") taken away\n")
    return .done
  }

  /// Where no process owns the cache; how many pins there were below the prefix.
  private static func write(
    _ inspector: CacheInspector, _ source: CachedSource, _ prefix: ObjectKey, _ pins: Bool
  ) throws(CacheError) -> Int {
    let count = try inspector.pins(of: source).count { $0.bytes.starts(with: prefix.bytes) }
    if pins || count > 0 { try inspector.pin(source, under: prefix, pins) }
    return count
  }

  private static func ask(
    _ mount: RunningMount, _ question: PinQuestion, _ pins: Bool
  ) throws(CommandFailure) -> ExitCode {
    if !pins {
      emit(try mount.ask(ControlRequest(.unpin, question.encoded)))
      return .done
    }
    return try WarmAnswers.take(from: mount, ControlRequest(.pin, question.encoded))
  }
}
