// `cache stat` and `cache du`.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum CacheTotals {
  static func stat(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    for source in try query.sources() {
      let total = try query.inspector.total(of: source, under: query.prefix)
      let owner = source.owner.map { $0 > 0 ? "in use by process \($0)" : "in use" } ?? "not mounted"
      query.say(
        .object([
          ("bucket", .string(source.identity.bucket)), ("prefix", .string(source.identity.prefix.description)),
          ("endpoint", .string(source.identity.endpoint)),
          ("at", source.identity.view.map { .string($0) } ?? .null), ("directory", .string(source.directory)),
          ("pid", source.owner.map { .int(Int64($0)) } ?? .null), ("objects", .int(Int64(total.objects))),
          ("size", .int(total.size)), ("cachedBytes", .int(total.cachedBytes)), ("diskBytes", .int(total.diskBytes)),
        ]),
        "\(source.name)\n  \(total.objects) objects, \(ByteCount(total.cachedBytes)) cached of \(ByteCount(total.size)), "
          + "\(ByteCount(total.diskBytes)) on disk, \(owner)\n  \(source.directory)")
    }
    return .done
  }

  static func usage(_ query: CacheQuery) throws(CacheError) -> ExitCode {
    let sources = try query.sources()
    for source in sources {
      query.head(source, of: sources)
      for total in try query.inspector.totals(of: source, under: query.prefix) {
        query.say(
          .object([
            keyMember(total.key), ("objects", .int(Int64(total.objects))), ("size", .int(total.size)),
            ("cachedBytes", .int(total.cachedBytes)), ("diskBytes", .int(total.diskBytes)),
          ]),
          padded("\(total.diskBytes)", to: 14) + quoted(total.key.description))
      }
    }
    return .done
  }
}
