// `cache verify`, `cache evict` and `cache gc`.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheCare {
  static func verify(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    var code = ExitCode.done
    for source in try query.inspector.sources() {
      let result = try query.inspector.verify(source, under: query.prefix)
      if !result.damaged.isEmpty { code = .damaged }
      let damage = result.damaged.map(\.description)
      let verdict = damage.isEmpty ? "no damage" : "\(damage.count) damaged"
      query.say(
        .object([
          ("directory", .string(source.directory)), ("objects", .int(Int64(result.objects))),
          ("bytes", .int(result.bytes)), ("damaged", .array(damage.map { .string($0) })),
        ]),
        "\(source.name): \(result.objects) objects, \(ByteCount(result.bytes)) checked, \(verdict)"
          + damage.map { "\n  \(quoted($0))" }.joined())
    }
    return code
  }

  static func evict(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    for source in try query.inspector.sources() {
      let (objects, bytes) = try query.inspector.evict(source, under: query.prefix)
      query.say(
        .object([
          ("directory", .string(source.directory)), ("objects", .int(Int64(objects))), ("bytes", .int(bytes)),
        ]), "\(source.name): \(objects) objects deleted, \(ByteCount(bytes))")
    }
    return .done
  }

  /// What a mount has in use is left alone, and told at the end.
  static func collectGarbage(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    var inUse: CacheError?
    for source in try query.inspector.sources() {
      do throws(CacheError) {
        let garbage = try query.inspector.collectGarbage(source, limits: query.limits)
        query.say(json(garbage, source), "\(source.name): \(text(garbage))")
      } catch {
        guard case .locked = error.code else { throw error }
        inUse = error
      }
    }
    if let inUse { throw inUse }
    return .done
  }

  private static func counts(_ garbage: CacheGarbage) -> [(name: String, words: String, count: Int)] {
    [
      ("strayFiles", "files without a row", garbage.strayFiles),
      ("superseded", "superseded copies", garbage.superseded),
      ("lostCopies", "rows without a file", garbage.lostCopies),
      ("evicted", "copies beyond the limit", garbage.evicted),
      ("names", "forgotten names", garbage.names), ("absences", "absences that were over", garbage.absences),
      ("ledgerRows", "joined rows of the ledger", garbage.ledgerRows),
    ]
  }

  private static func json(_ garbage: CacheGarbage, _ source: CachedSource) -> JSON {
    .object(
      [("directory", .string(source.directory)), ("freedBytes", .int(garbage.freedBytes))]
        + counts(garbage).map { ($0.name, .int(Int64($0.count))) })
  }

  private static func text(_ garbage: CacheGarbage) -> String {
    let found = counts(garbage).filter { $0.count > 0 }.map { "\($0.count) \($0.words)" }
    return "\(ByteCount(garbage.freedBytes)) freed" + (found.isEmpty ? "" : ": " + found.joined(separator: ", "))
  }
}
