// A cache in a directory of its own, and the few words that tests say about it.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

@testable import MirrorCache

/// Opens caches for one source under one temporary root.
final class TestCache: Sendable {
  let temporary: TemporaryDirectory
  let clock = ManualClock()
  let free = Mutex<Int64?>(nil)
  let limit: Int64
  let minimumFree: Int64

  init(limit: Int64 = 1 << 30, minimumFree: Int64 = 0, in place: String? = nil) throws {
    temporary = try TemporaryDirectory("cache", in: place)
    self.limit = limit
    self.minimumFree = minimumFree
  }

  var root: String { temporary.file("root") }
  var configuration: CacheConfiguration {
    CacheConfiguration(
      root: root, endpoint: "http://127.0.0.1:9000", bucket: "bucket", prefix: ObjectKey("photos/"), limit: limit,
      minimumFree: minimumFree)
  }

  func open(
    limit: Int64? = nil, synchronize: @escaping @Sendable (String) -> Bool = { _ in true }
  ) throws(CacheError) -> Cache {
    clock.advance(.seconds(1))
    var configuration = configuration
    if let limit { configuration.limit = limit }
    return try Cache.open(
      configuration, clock: clock, log: .none, free: { self.free.withLock { $0 } }, synchronize: synchronize)
  }

  func setFree(_ bytes: Int64?) { free.withLock { $0 = bytes } }

  /// The blob files on disk.
  func blobFiles(_ cache: Cache) throws -> [String] {
    try FileSystem.list(cache.directory + "/blobs").flatMap { name in
      try FileSystem.list("\(cache.directory)/blobs/\(name)").map { "\(cache.directory)/blobs/\(name)/\($0)" }
    }.sorted()
  }

  var inspector: CacheInspector { CacheInspector(root: root) }
  func source() throws -> CachedSource {
    guard let source = try inspector.sources().first else { throw Missing() }
    return source
  }
  struct Missing: Error {}
}

extension Cache {
  /// A complete blob with these bytes.
  @discardableResult
  func store(_ key: ObjectKey, _ bytes: [UInt8], tag: String = "v1", vouched: Bool = true) throws -> Blob {
    let metadata = ObjectMetadata(
      revision: revision(bytes.count, tag, version: "3HL4"), storageClass: "GLACIER_IR", contentType: "text/plain")
    let blob = try makeBlob(key, metadata)
    try blob.write(bytes, at: 0)
    if vouched {
      catalogue.record(.object(key, metadata.revision, storageClass: nil, validated: WallTime(seconds: 5)))
    }
    return blob
  }

  func blob(_ key: ObjectKey, _ size: Int, _ tag: String = "v1") async -> Blob? {
    await blob(key, revision(size, tag))
  }
}

extension Blob {
  /// Writes a run and ends it.
  @discardableResult
  func write(_ bytes: [UInt8], at start: Int64) throws(Errno) -> Int64 {
    let writer = writer(at: start, upTo: start + Int64(bytes.count))
    try writer.write(bytes.span.bytes)
    return writer.finish()
  }

  func read(_ range: Range<Int64>) throws -> [UInt8] {
    try file().read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
  }
  var whole: Range<Int64> { 0..<revision.size }
  /// The content, if all of it can be read.
  var content: [UInt8]? { isReadable(whole) ? try? read(whole) : nil }
  var path: String { SourceDirectory.blobPath(id, under: shelf.path) }
}

func revision(_ size: Int, _ tag: String = "v1", version: String? = nil) -> ObjectRevision {
  ObjectRevision(etag: EntityTag("\"\(tag)\""), size: Int64(size), modified: 1_600_000_000, version: version)
}

/// Bytes that differ from block to block and from seed to seed.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var words = [UInt64](repeating: 0, count: (count + 7) / 8)
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  for index in words.indices {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    words[index] = state
  }
  return words.withUnsafeBytes { Array($0.prefix(count)) }
}

func flipByte(of path: String, at offset: Int64) throws {
  let file = try File.open(path, .readWrite)
  let byte = try file.read(at: offset, count: 1)
  try file.write([byte[0] ^ 0xFF], at: offset)
}

let block = Int(Blob.blockSize)

func exists(_ path: String) -> Bool { (try? FileSystem.attributes(path)) != nil }
