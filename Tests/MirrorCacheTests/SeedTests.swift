// What a cache takes over from a seed, and what it does not believe.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct SeedTests {
  let test: TestCache
  private let created = WallTime(seconds: 1_699_000_000)
  init() throws { test = try TestCache() }

  private func tag(_ name: String) -> EntityTag { EntityTag("\"\(name)\"") }
  private func md5(_ bytes: [UInt8]) -> EntityTag { EntityTag(md5: Digest.value(.md5, of: bytes)) }

  /// A seed of these keys, below the prefix that the cache is of.
  private func seed(
    _ objects: [String: [UInt8]], tag: EntityTag? = nil, created: WallTime? = nil, prefix: String = "photos/"
  ) throws -> Seed {
    let directory = test.temporary.file("seed")
    var entries: [SeedEntry] = []
    for (name, bytes) in objects.sorted(by: { $0.key < $1.key }) {
      let digest = Digest.value(.sha256, of: bytes)
      let path = Seed.path(of: digest, in: directory)
      try FileSystem.makeDirectories(#require(FileSystem.parent(of: path)))
      try FileSystem.write(bytes, to: path, mode: 0o444)
      entries.append(
        SeedEntry(
          key: ObjectKey("photos/" + name),
          revision: ObjectRevision(etag: tag ?? md5(bytes), size: Int64(bytes.count), modified: 1_600_000_000),
          storageClass: nil, sha256: digest))
    }
    let manifest = SeedManifest(
      source: "s3://bucket/\(prefix)", prefix: ObjectKey(prefix), created: created ?? self.created, entries: entries)
    try FileSystem.write(manifest.bytes, to: directory + "/manifest", mode: 0o444)
    return try Seed(directory)
  }

  private func open(_ seed: Seed) throws -> Cache {
    var configuration = test.configuration
    configuration.seed = seed
    return try Cache.open(configuration, clock: test.clock, log: .none)
  }

  @Test func `a manifest is read as it was written, whatever bytes keys hold`() throws {
    let entries = [
      SeedEntry(
        key: ObjectKey([0x2D]), revision: ObjectRevision(etag: nil, size: 0, modified: nil), storageClass: nil,
        sha256: [UInt8](repeating: 7, count: 32)),
      SeedEntry(
        key: ObjectKey([0x61, 0x20, 0x0A, 0xFF, 0x25]),
        revision: ObjectRevision(etag: tag("x y"), size: 5, modified: -3), storageClass: "GLACIER_IR",
        sha256: [UInt8](repeating: 0, count: 32)),
    ]
    let manifest = SeedManifest(source: "s3://b/", prefix: ObjectKey(""), created: created, entries: entries)
    #expect(SeedManifest(bytes: manifest.bytes) == manifest)
    // What was cut off anywhere is no manifest.
    for count in 0..<manifest.bytes.count { #expect(SeedManifest(bytes: Array(manifest.bytes[..<count])) == nil) }
    #expect(throws: CacheError.self) { try Seed(test.temporary.file("nothing")) }
  }

  @Test func `names that were never heard of are learned once, as of when the seed was made`() async throws {
    let seed = try seed(["a": pattern(10), "d/b": pattern(20)])
    var cache = try open(seed)
    #expect(await cache.learnSeed() == 2)
    #expect(await cache.learnSeed() == 0)
    let root = try #require(await cache.catalogue.directory(ObjectKey("photos/")))
    #expect(root.listed == created && root.directories == [ObjectKey("photos/d/")])
    #expect(root.objects.map(\.key) == [ObjectKey("photos/a")] && root.objects[0].hasBlob)
    #expect(root.objects[0].validated == created)
    #expect(await cache.catalogue.object(ObjectKey("photos/d/b"))?.hasBlob == true)
    // What the origin said since then stays said.
    cache.catalogue.record(.removed(ObjectKey("photos/a")))
    await cache.close()
    cache = try open(seed)
    #expect(await cache.learnSeed() == 0)
    #expect(await cache.catalogue.object(ObjectKey("photos/a")) == nil)
    await cache.close()
  }

  @Test func `what is known better than the seed does stays`() async throws {
    let seed = try seed([
      "absent": pattern(1), "new": pattern(2), "old": pattern(3), "gone/x": pattern(4), "n": pattern(5),
    ])
    let cache = try open(seed)
    let later = WallTime(milliseconds: created.milliseconds + 1000)
    let known = revision(9, "known")
    cache.catalogue.record(.object(ObjectKey("photos/new"), known, storageClass: nil, validated: later))
    cache.catalogue.record(
      .object(ObjectKey("photos/old"), known, storageClass: nil, validated: WallTime(seconds: 1_600_000_000)))
    cache.catalogue.record(.absent(ObjectKey("photos/absent"), until: WallTime(seconds: 1_800_000_000)))
    #expect(await cache.learnSeed() == 3)
    #expect(await cache.catalogue.object(ObjectKey("photos/new"))?.revision == known)
    #expect(await cache.catalogue.object(ObjectKey("photos/old"))?.revision.size == 3)
    #expect(await cache.catalogue.object(ObjectKey("photos/absent")) == nil)
    await cache.close()
  }

  @Test func `a newer listing tells that names of the seed are gone`() async throws {
    let seed = try seed(["a": pattern(1), "d/b": pattern(2)])
    let cache = try open(seed)
    let later = WallTime(milliseconds: created.milliseconds + 1000)
    cache.catalogue.record(.contents(ObjectKey("photos/"), names: [], listed: later))
    #expect(await cache.learnSeed() == 0)
    #expect(await cache.catalogue.object(ObjectKey("photos/d/b")) == nil)
    await cache.close()
  }

  @Test func `content is taken over when it is proven, by tag or by MD5`() async throws {
    let bytes = pattern(3 * block + 5)
    for tag in [tag("of-parts-2"), md5(bytes)] {
      let cache = try open(seed(["a": bytes], tag: tag))
      for asked in [tag, md5(bytes)] {
        let revision = ObjectRevision(etag: asked, size: Int64(bytes.count), modified: nil)
        let blob = try #require(await cache.adopt(ObjectKey("photos/a"), revision))
        #expect(blob.isComplete && blob.content == bytes)
        await cache.catalogue.flush()
        #expect(await cache.blob(ObjectKey("photos/a"), revision)?.isComplete == true)
      }
      await cache.close()
      try FileSystem.removeTree(test.root)
    }
  }

  @Test func `what is another revision, damaged or missing is not taken over`() async throws {
    let bytes = pattern(1000)
    let cache = try open(seed(["a": bytes, "b": pattern(500), "c": pattern(600)]))
    let key = ObjectKey("photos/a")
    func revision(_ etag: EntityTag, _ size: Int = 1000) -> ObjectRevision {
      ObjectRevision(etag: etag, size: Int64(size), modified: nil)
    }
    #expect(await cache.adopt(key, revision(md5(pattern(1000, seed: 2)))) == nil)
    #expect(await cache.adopt(key, revision(tag("other"))) == nil)
    #expect(await cache.adopt(key, revision(md5(bytes), 999)) == nil)
    #expect(await cache.adopt(ObjectKey("photos/z"), revision(md5(bytes))) == nil)
    let damaged = Seed.path(of: Digest.value(.sha256, of: pattern(500)), in: test.temporary.file("seed"))
    #expect(chmod(damaged, 0o600) == 0)
    try flipByte(of: damaged, at: 3)
    #expect(cache.isSeeded(ObjectKey("photos/b"), revision(md5(pattern(500)), 500)))
    #expect(await cache.adopt(ObjectKey("photos/b"), revision(md5(pattern(500)), 500)) == nil)
    #expect(!cache.isSeeded(ObjectKey("photos/b"), revision(md5(pattern(500)), 500)))
    try FileSystem.removeFile(Seed.path(of: Digest.value(.sha256, of: pattern(600)), in: test.temporary.file("seed")))
    #expect(await cache.adopt(ObjectKey("photos/c"), revision(md5(pattern(600)), 600)) == nil)
    await cache.catalogue.flush()
    #expect(cache.usage().reserved == 0)
    #expect(await cache.adopt(key, revision(md5(bytes)))?.content == bytes)
    await cache.close()
    #expect(try test.blobFiles(cache).count == 1)
  }

  @Test func `where there is no room nothing is taken over`() async throws {
    let bytes = pattern(3 * block)
    var configuration = test.configuration
    configuration.limit = Int64(block)
    configuration.seed = try seed(["a": bytes])
    let cache = try Cache.open(configuration, clock: test.clock, log: .none)
    let revision = ObjectRevision(etag: md5(bytes), size: Int64(bytes.count), modified: nil)
    #expect(await cache.adopt(ObjectKey("photos/a"), revision) == nil)
    #expect(cache.usage().reserved == 0 && cache.usage().objects == 0)
    await cache.close()
  }
}
