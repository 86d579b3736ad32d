// `cache evict` and `cache gc`: by the mount that uses a cache, where one does.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheCare {
  static func evict(_ query: CacheQuery) throws(CommandFailure) -> ExitCode {
    for source in try query.reading({ () throws(CacheError) in try query.sources() }) {
      var (objects, bytes, inUse): (Int64, Int64, Int64) = (0, 0, 0)
      if let mount = try source.mount() {
        let answer = CareAnswer(text: try mount.ask(ControlRequest(.evict, query.prefix.bytes)))
        (objects, bytes, inUse) = (answer["objects"], answer["bytes"], answer["inUse"])
      } else {
        let done = try query.reading { () throws(CacheError) in try query.inspector.evict(source, under: query.prefix) }
        (objects, bytes) = (Int64(done.objects), done.bytes)
      }
      query.say(
        .object([
          ("directory", .string(source.directory)), ("objects", .int(objects)), ("bytes", .int(bytes)),
          ("inUse", .int(inUse)),
        ]),
        "\(source.name): \(objects) objects deleted, \(ByteCount(bytes))"
          + (inUse > 0 ? "; \(inUse) are in use and stay" : ""))
    }
    return .done
  }

  static func collectGarbage(_ query: CacheQuery) throws(CommandFailure) -> ExitCode {
    for source in try query.reading({ () throws(CacheError) in try query.sources() }) {
      let garbage: CacheGarbage
      if let mount = try source.mount() {
        let question = ControlRequest(.collect, CareAnswer.encoded(query.limits))
        garbage = CareAnswer(text: try mount.ask(question)).garbage
      } else {
        garbage = try query.reading { () throws(CacheError) in
          try query.inspector.collectGarbage(source, limits: query.limits)
        }
      }
      query.say(json(garbage, source), "\(source.name): \(text(garbage))")
    }
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
