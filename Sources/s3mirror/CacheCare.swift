// `cache verify` and `cache evict`.
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
}
