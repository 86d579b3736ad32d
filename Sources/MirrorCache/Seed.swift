// A read-only directory that came with the machine: objects as they were when it was made.
import MirrorPlatform
import MirrorStore
import Synchronization

/// `<directory>/manifest` and `<directory>/objects/ab/<sha256>`. Safe to share.
public final class Seed: Sendable {
  public let directory: String
  public let manifest: SeedManifest
  /// Tells one seed from another.
  let identity: UInt64
  private let entries: [ObjectKey: SeedEntry]
  /// What turned out not to be what the origin has: it is not read again to find that out.
  private let refused = Mutex<Set<Attempt>>([])

  private struct Attempt: Hashable {
    let key: ObjectKey
    let etag: EntityTag?
  }

  /// - Throws: `.unusable` for a directory without a manifest that can be read to its end.
  public init(_ directory: String) throws(CacheError) {
    let path = directory + "/manifest"
    let bytes: [UInt8]
    do throws(Errno) { bytes = try FileSystem.read(path) } catch {
      throw CacheError(error, path: path, doing: "read what the seed holds")
    }
    guard let manifest = SeedManifest(bytes: bytes) else {
      throw CacheError(.unusable, path: path, message: "is not a whole manifest of a seed")
    }
    self.directory = directory
    self.manifest = manifest
    identity = stableHash(bytes)
    entries = Dictionary(manifest.entries.map { ($0.key, $0) }) { $1 }
  }

  public static func path(of sha256: [UInt8], in directory: String) -> String {
    "\(directory)/objects/\(hexadecimal(sha256.prefix(1)))/\(hexadecimal(sha256))"
  }

  /// It holds this revision's bytes, going by what it says.
  func holds(_ key: ObjectKey, _ revision: ObjectRevision) -> Bool {
    guard let entry = entries[key] else { return false }
    return entry.revision.sameBytes(as: revision) && !isRefused(key, revision)
  }

  /// What may be this revision's bytes: the origin's tag is the one that the seed was made from, or an MD5 to be compared.
  func candidate(_ key: ObjectKey, _ revision: ObjectRevision) -> SeedEntry? {
    guard let entry = entries[key], entry.revision.size == revision.size, !isRefused(key, revision) else { return nil }
    return entry.revision.sameBytes(as: revision) || revision.etag?.md5 != nil ? entry : nil
  }

  func refuse(_ key: ObjectKey, _ revision: ObjectRevision) {
    refused.withLock { _ = $0.insert(Attempt(key: key, etag: revision.etag)) }
  }

  private func isRefused(_ key: ObjectKey, _ revision: ObjectRevision) -> Bool {
    refused.withLock { !$0.isEmpty && $0.contains(Attempt(key: key, etag: revision.etag)) }
  }

  /// Gives the bytes of an entry in order. False where they are not those that it says, or not those of `revision`.
  func read(
    _ entry: SeedEntry, as revision: ObjectRevision, _ body: ([UInt8]) throws(Errno) -> Void
  ) throws(Errno) -> Bool {
    let file = try File.open(Self.path(of: entry.sha256, in: directory), .read)
    guard try file.attributes().size == revision.size else { return false }
    let sha256 = Digest(.sha256)
    let md5 = Digest(.md5)
    let isByMD5 = !entry.revision.sameBytes(as: revision)
    var offset: Int64 = 0
    while offset < revision.size {
      let bytes = try file.read(at: offset, count: Int(min(1 << 20, revision.size - offset)))
      guard !bytes.isEmpty else { return false }
      sha256.update(bytes)
      if isByMD5 { md5.update(bytes) }
      try body(bytes)
      offset += Int64(bytes.count)
    }
    guard sha256.finish() == entry.sha256 else { return false }
    return !isByMD5 || md5.finish() == revision.etag?.md5
  }
}
