// `keys --hidden`: objects that have no name in the mount, told by mounts, and by caches that none uses.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

enum KeysCommand {
  static let options = [
    ("--hidden", "the keys that can't be files, and why"),
    ("--cache-dir DIR", "as the last mounts that used this cache directory saw them"),
    ("--json", "for scripts: one object a line"),
  ]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "keys", flags: ["hidden", "json"], values: ["cache-dir"])
    guard words.flags.contains("hidden") else {
      throw CommandFailure(.usage, "say which keys: --hidden; what is cached is told by 's3mirror cache ls'")
    }
    let json = words.flags.contains("json")
    if !words.positionals.isEmpty {
      let path = String(decoding: try words.one("MOUNTPOINT", of: "keys"), as: UTF8.self)
      emit(try told(by: RunningMounts.at(path), json: json))
      return .done
    }
    let cache = words.values["cache-dir"].map(absolutePath)
    if cache == nil {
      for mount in RunningMounts.all() {
        emit("\(json ? "" : quoted(mount.mountPoint) + "\n")\(try told(by: mount, json: json))")
      }
    }
    try read(CacheInspector(root: cache ?? defaultCacheDirectory()), ownedToo: cache != nil, json: json)
    return .done
  }

  private static func told(by mount: RunningMount, json: Bool) throws(CommandFailure) -> String {
    let lines = try mount.ask(ControlRequest(.hidden))
    if json { return lines }
    return lines.split(separator: "\n").compactMap { line -> String? in
      guard let object = JSON(parsing: Array(line.utf8)), let reason = object["reason"]?.string else { return nil }
      let encoded = object["keyBase64"]?.string
      let key = object["key"]?.string ?? encoded.flatMap { bytes(base64: $0) }.map { ObjectKey($0).description } ?? ""
      return "\(quoted(key)): \(reason)\n"
    }.joined()
  }

  private static func read(_ inspector: CacheInspector, ownedToo: Bool, json: Bool) throws(CommandFailure) {
    do throws(CacheError) {
      for source in try inspector.sources() where ownedToo || source.owner == nil {
        let keys = try inspector.hiddenKeys(of: source)
        if !json, !keys.isEmpty { emit("\(source.name)\n") }
        for hidden in keys {
          let seen = Timestamp(seconds: hidden.seen.seconds).rfc3339
          emit(
            json
              ? JSON.object([
                keyMember(hidden.key), ("reason", .string(hidden.reason)), ("seen", .string(seen)),
              ]).text + "\n" : "\(quoted(hidden.key.description)): \(hidden.reason)\n")
        }
      }
    } catch { throw CommandFailure(error) }
  }
}
