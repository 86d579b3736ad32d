// What answers said of an object's version and of the file that it was, over restarts.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct VersionsOnDiskTests {
  private let test: TestCache
  private let key = ObjectKey("photos/f")
  private let time = WallTime(seconds: 5)

  init() throws { test = try TestCache() }

  private func known(_ changes: CatalogueChange...) async throws -> CatalogueObject? {
    let cache = try test.open()
    for change in changes { cache.catalogue.record(change) }
    await cache.close()
    let again = try test.open()
    let object = await again.catalogue.object(key)
    let listed = await again.catalogue.directory(ObjectKey("photos/"))?.objects.first
    #expect(object == listed)
    await again.close()
    return object
  }

  private func object(_ revision: ObjectRevision) -> CatalogueChange {
    .object(key, revision, storageClass: nil, validated: time)
  }

  @Test func `version and description stay with the revision, whatever a listing leaves out`() async throws {
    let first = try await known(object(revision(10, version: "v7")), .described(key, "mode=640 uid=5"))
    #expect(first?.revision.version == "v7" && first?.described == "mode=640 uid=5")
    let listed = try await known(object(revision(10)))
    #expect(listed?.revision.version == "v7" && listed?.described == "mode=640 uid=5")
    // Put again with the same bytes.
    let renamed = try await known(object(revision(10, version: "v8")))
    #expect(renamed?.revision.version == "v8" && renamed?.described == "mode=640 uid=5")
    let moved = ObjectRevision(etag: revision(10).etag, size: 10, modified: 1_600_000_007)
    let dated = try await known(object(moved))
    #expect(dated?.revision.version == "v8" && dated?.described == nil)
    let other = try await known(.described(key, ""), object(revision(11, "w")))
    #expect(other?.revision.version == nil && other?.described == nil)
  }

  @Test func `a cache of the fourth version is taken over`() async throws {
    let cache = try test.open()
    try cache.store(ObjectKey("k"), pattern(1000))
    cache.catalogue.record(.said(ObjectKey("k"), "max-age=5"))
    await cache.close()
    let source = try test.source()
    do {
      let connection = try Connection(source.directory + "/catalogue.sqlite", .readWrite)
      try connection.execute(
        """
        ALTER TABLE objects DROP COLUMN version_id; ALTER TABLE objects DROP COLUMN posix;
        UPDATE meta SET value = 4 WHERE name = 'version';
        """)
    }
    let again = try test.open()
    #expect(await again.blob(ObjectKey("k"), 1000)?.content == pattern(1000))
    let known = await again.catalogue.object(ObjectKey("k"))
    #expect(known?.said == "max-age=5" && known?.revision.version == nil && known?.described == nil)
    again.catalogue.record(.described(ObjectKey("k"), "uid=1"))
    #expect(await again.catalogue.object(ObjectKey("k"))?.described == "uid=1")
    await again.close()
  }

  @Test func `the past of a bucket has a cache of its own`() throws {
    let now = SourceIdentity(endpoint: "e", bucket: "b", prefix: ObjectKey("p/"))
    let then = SourceIdentity(endpoint: "e", bucket: "b", prefix: ObjectKey("p/"), view: "2026-11-30T00:00:00Z")
    #expect(now != then && now.directoryName != then.directoryName)
    #expect(SourceIdentity(encoded: then.encoded) == then && SourceIdentity(encoded: now.encoded) == now)
    #expect(then.directoryName.hasPrefix("b_2026-11-30T00_00_00Z_p_e-"))
  }
}
