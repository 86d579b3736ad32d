// What a cache command is about, and how it is to be told.
import MirrorCache
import MirrorDaemon
import MirrorPlatform
import MirrorStore

struct CacheQuery {
  let words: Words
  let inspector: CacheInspector
  /// Nil: all.
  let bucket: String?
  let prefix: ObjectKey
  /// Of `export`, as it was written.
  let directory: String?
  let json: Bool
  let limits: CacheLimits

  init(_ words: Words, takesDirectory: Bool = false) throws(CommandFailure) {
    self.words = words
    var positionals = words.positionals.dropFirst()
    directory = takesDirectory ? positionals.popFirst().map { String(decoding: $0, as: UTF8.self) } : nil
    guard positionals.count <= 1 else {
      throw CommandFailure(.usage, "too many arguments; see 's3mirror help cache'")
    }
    inspector = CacheInspector(root: words.values["cache-dir"].map(absolutePath) ?? defaultCacheDirectory())
    let written = positionals.first ?? []
    let url = BucketPrefix(written)
    bucket = url?.bucket
    prefix = url?.prefix ?? ObjectKey(written)
    json = words.flags.contains("json")
    limits = CacheLimits(size: try Self.size(words, "cache-size"), minimumFree: try Self.size(words, "min-free"))
  }

  static func size(_ words: Words, _ name: String) throws(CommandFailure) -> Int64? {
    guard let text = words.values[name] else { return nil }
    guard let size = ByteCount(parsing: text) else {
      throw CommandFailure(.usage, "option '--\(name) \(text)': a size such as 500M or 10GiB")
    }
    return size.bytes
  }

  /// Those that are meant.
  func sources() throws(CacheError) -> [CachedSource] {
    try inspector.sources().filter { bucket == nil || $0.identity.bucket == bucket }
  }

  func reading<Answer>(_ body: () throws(CacheError) -> Answer) throws(CommandFailure) -> Answer {
    do throws(CacheError) { return try body() } catch { throw CommandFailure(error) }
  }

  /// One line of JSON, or text.
  func say(_ object: JSON, _ text: String) { emit((json ? object.text : text) + "\n") }

  /// A heading that tells sources apart, where there are several.
  func head(_ source: CachedSource, of sources: [CachedSource]) {
    if !json && sources.count > 1 { emit("\(source.name)\n") }
  }
}

/// `s3://BUCKET/PREFIX`
struct BucketPrefix {
  let bucket: String
  let prefix: ObjectKey

  init?(_ argument: [UInt8]) {
    let scheme = Array("s3://".utf8)
    guard argument.starts(with: scheme) else { return nil }
    let rest = argument.dropFirst(scheme.count)
    let end = rest.firstIndex(of: 0x2F) ?? rest.endIndex
    bucket = String(decoding: rest[..<end], as: UTF8.self)
    prefix = ObjectKey(Array(rest[end...].dropFirst()))
  }
}

extension CachedSource {
  var name: String {
    let view = identity.view.map { ", as it was at \($0)," } ?? ""
    return quoted("s3://\(identity.bucket)/\(identity.prefix)\(view) at \(identity.endpoint)")
  }

  /// The mount that owns it; nil where none does. Throws where its owner can't be asked.
  func mount() throws(CommandFailure) -> RunningMount? {
    guard let owner else { return nil }
    let mount = RunningMounts.all().first { $0.socket.flatMap { ControlClient.process(at: $0) } == owner }
    if let mount { return mount }
    let sockets = RunningMounts.detachedSockets()
    if let socket = sockets.first(where: { ControlClient.process(at: $0) == owner }) {
      return RunningMount(mountPoint: "(detached)", socket: socket)
    }
    throw CommandFailure(.cacheUnusable, "process \(owner), which uses \(name), can't be asked")
  }
}
