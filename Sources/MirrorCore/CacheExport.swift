// `cache export`: what is cached whole, written as plain files, with a word on what is not.
public import MirrorCache
public import MirrorPlatform
public import MirrorStore

/// What was written, and what was not.
public struct CacheExport: Sendable {
  public struct LeftOut: Sendable {
    public let key: ObjectKey
    public let reason: String
  }
  public private(set) var files = 0
  public private(set) var bytes: Int64 = 0
  public private(set) var leftOut: [LeftOut] = []

  /// All copies under `prefix`, and their bytes.
  public private(set) var total = CachedTotal(key: ObjectKey([]))
  private var done = 0
  private var doneBytes: Int64 = 0

  /// Writes into `directory`, which exists, under the names that the mount has. `progress` is told of objects and bytes
  /// done with.
  public init(
    _ source: CachedSource, of inspector: CacheInspector, under prefix: ObjectKey, into directory: DirectoryTree,
    progress: (_ objects: Int, _ bytes: Int64) -> Void = { _, _ in }
  ) throws(CacheError) {
    total = try inspector.total(of: source, under: prefix)
    progress(0, 0)
    let root = source.identity.prefix.bytes.count
    try inspector.forEachCopy(of: source, under: prefix) { copy in
      if let reason = write(copy, Array(copy.key.bytes.dropFirst(root)), into: directory) {
        leftOut.append(LeftOut(key: copy.key, reason: reason))
      }
      done += 1
      doneBytes += copy.cachedBytes
      progress(done, doneBytes)
      return true
    }
  }

  /// Why it was not written; nil: it was.
  private mutating func write(_ copy: CachedCopy, _ path: [UInt8], into root: DirectoryTree) -> String? {
    guard copy.isCurrent else { return "its key has another revision by now, or none" }
    guard copy.isComplete else {
      return "only \(ByteCount(copy.cachedBytes)) of \(ByteCount(copy.revision.size)) are cached"
    }
    var names = path.split(separator: 0x2F, omittingEmptySubsequences: false)
    let isMarker = names.count > 1 && names.last?.isEmpty == true
    if isMarker { names.removeLast() }
    for name in names { if let refusal = KeyName.refusal(name) { return refusal.rawValue } }
    if isMarker, copy.revision.size > 0 { return KeyName.HiddenReason.markerContent.rawValue }
    do throws(Errno) {
      var directory = root
      for name in isMarker ? names[...] : names.dropLast() { directory = try directory.directory(Array(name)) }
      guard !isMarker, let name = names.last else { return nil }
      try directory.put(Array(name), mode: 0o644, modified: copy.revision.modified) { (file) throws(Errno) in
        var offset: Int64 = 0
        try copy.read { (bytes) throws(Errno) in
          try file.write(bytes, at: offset)
          offset += Int64(bytes.count)
        }
      }
      files += 1
      bytes += copy.revision.size
      return nil
    } catch { return Self.words(error) }
  }

  private static func words(_ error: Errno) -> String {
    switch error {
    case .inputOutput: "its copy is damaged; see 's3mirror cache verify --repair'"
    case .noEntry: "it was evicted meanwhile"
    case .isDirectory, .exists: "a directory has its name"
    case .notDirectory: "a file or a link has the name of a directory on its way"
    default: "\(error)"
    }
  }
}
