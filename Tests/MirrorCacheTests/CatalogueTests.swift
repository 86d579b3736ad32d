import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct CatalogueTests {
  let test: TestCache
  let cache: Cache
  var catalogue: Catalogue { cache.catalogue }
  init() throws {
    test = try TestCache()
    cache = try test.open()
  }

  private func object(_ key: ObjectKey, _ revision: ObjectRevision, at seconds: Int64 = 7) -> CatalogueChange {
    .object(key, revision, storageClass: nil, validated: WallTime(seconds: seconds))
  }

  @Test func `a question sees what was recorded before it`() async throws {
    for count in 1...50 {
      catalogue.record(object(ObjectKey("a/b"), revision(count, "t\(count)"), at: Int64(count)))
      let found = await catalogue.object(ObjectKey("a/b"))
      #expect(found?.revision == revision(count, "t\(count)") && found?.validated == WallTime(seconds: Int64(count)))
    }
    catalogue.record(.validated([ObjectKey("a/b")], WallTime(milliseconds: 99_123)))
    #expect(await catalogue.object(ObjectKey("a/b"))?.validated == WallTime(milliseconds: 99_123))
    catalogue.record(.removed(ObjectKey("a/b")))
    #expect(await catalogue.object(ObjectKey("a/b")) == nil)
    await cache.close()
  }

  @Test func `what an answer said lasts as long as its revision`() async throws {
    catalogue.record(object(ObjectKey("d/f"), revision(1, "one")))
    #expect(await catalogue.object(ObjectKey("d/f"))?.said == nil, "not known is not nothing")
    catalogue.record(.said(ObjectKey("d/f"), ""))
    #expect(await catalogue.object(ObjectKey("d/f"))?.said == "")
    catalogue.record(.said(ObjectKey("d/f"), "max-age=5"))
    catalogue.record(
      .object(ObjectKey("d/f"), revision(1, "one"), storageClass: "GLACIER_IR", validated: WallTime(seconds: 9)))
    #expect(await catalogue.object(ObjectKey("d/f"))?.said == "max-age=5", "the same bytes in another class")
    await cache.close()
    let again = try test.open()
    #expect(await again.catalogue.directory(ObjectKey("d/"))?.objects.map(\.said) == ["max-age=5"])
    again.catalogue.record(object(ObjectKey("d/f"), revision(1, "two")))
    #expect(await again.catalogue.object(ObjectKey("d/f"))?.said == nil)
    again.catalogue.record(.said(ObjectKey("never/heard/of"), "no-cache"))
    #expect(await again.catalogue.object(ObjectKey("never/heard/of")) == nil)
    await again.close()
  }

  @Test func `revisions come back as they were`() async throws {
    let revisions = [
      ObjectRevision(etag: EntityTag("\"d41d8cd98f00b204e9800998ecf8427e\""), size: 0, modified: nil),
      ObjectRevision(etag: EntityTag("\"d41d8cd98f00b204e9800998ecf8427e-12\""), size: 1 << 42, modified: 0),
      ObjectRevision(etag: EntityTag("W/\"x\""), size: 3, modified: -5),
      ObjectRevision(etag: EntityTag("\"14 characters\""), size: 3, modified: 1),
      ObjectRevision(etag: EntityTag([0xFF, 0x00, 0x22]), size: 3, modified: 1),
      ObjectRevision(etag: EntityTag([]), size: 3, modified: 1),
      ObjectRevision(etag: nil, size: 9, modified: 1),
    ]
    for (index, revision) in revisions.enumerated() { catalogue.record(object(ObjectKey("k\(index)"), revision)) }
    await cache.close()
    let again = try test.open()
    for (index, revision) in revisions.enumerated() {
      #expect(await again.catalogue.object(ObjectKey("k\(index)"))?.revision == revision)
    }
    await again.close()
  }

  @Test func `a directory is its listing, its objects and its child directories`() async throws {
    #expect(await catalogue.directory(ObjectKey("d/")) == nil)
    catalogue.record(.directory(ObjectKey("d/"), listed: WallTime(seconds: 70)))
    catalogue.record(.directory(ObjectKey("d/"), listed: nil))
    catalogue.record(.directory(ObjectKey("d/z/"), listed: nil))
    catalogue.record(.directory(ObjectKey("d/e/"), listed: nil))
    catalogue.record(.directory(ObjectKey("d/e/f/"), listed: nil))
    for name in ["d/2", "d/10", "d/", "d/e/x", "d2", "dd/1"] { catalogue.record(object(ObjectKey(name), revision(1))) }
    let found = await catalogue.directory(ObjectKey("d/"))
    #expect(found?.listed == WallTime(seconds: 70))
    #expect(found?.objects.map(\.key) == ["d/", "d/10", "d/2"].map { ObjectKey($0) })
    #expect(found?.directories == ["d/e/", "d/z/"].map { ObjectKey($0) })
    #expect(await catalogue.directory(ObjectKey("d/z/"))?.listed == nil)
    #expect(await catalogue.directory(ObjectKey("d/z/"))?.objects == [])
    await cache.close()
  }

  @Test func `the root has children but no parent`() async throws {
    catalogue.record(.directory(ObjectKey(""), listed: WallTime(seconds: 1)))
    catalogue.record(.directory(ObjectKey("a/"), listed: nil))
    catalogue.record(object(ObjectKey("f"), revision(1)))
    let root = await catalogue.directory(ObjectKey(""))
    #expect(root?.directories == [ObjectKey("a/")] && root?.objects.map(\.key) == [ObjectKey("f")])
    await cache.close()
  }

  @Test func `a directory that is gone takes all below it along`() async throws {
    for name in ["d/a", "d/e/b", "d0", "d", "e/c"] {
      catalogue.record(object(ObjectKey(name), revision(4)))
      try cache.store(ObjectKey(name), pattern(4))
    }
    for name in ["d/", "d/e/", "d0/"] { catalogue.record(.directory(ObjectKey(name), listed: nil)) }
    catalogue.record(.directoryRemoved(ObjectKey("d/")))
    for gone in ["d/", "d/e/"] { #expect(await catalogue.directory(ObjectKey(gone)) == nil) }
    for gone in ["d/a", "d/e/b"] {
      #expect(await catalogue.object(ObjectKey(gone)) == nil)
      #expect(await cache.blob(ObjectKey(gone), 4) == nil)
    }
    for kept in ["d0", "d", "e/c"] { #expect(await catalogue.object(ObjectKey(kept))?.hasBlob == true) }
    #expect(await catalogue.directory(ObjectKey("d0/")) != nil)
    #expect(try test.blobFiles(cache).count == 3)
    await cache.close()
  }

  @Test func `keys are bytes`() async throws {
    let keys = [
      [0x61, 0x2F, 0x00, 0x62], [0xFF, 0xFE], [0x2F], [0x2F, 0x2F, 0x61], [0x61, 0x2F, 0xC3, 0x28], [0x0A, 0x27, 0x22],
      [0xFF, 0xFF, 0xFF], [0x61, 0x2F],
    ].map { ObjectKey($0.map { UInt8($0) }) }
    for (index, key) in keys.enumerated() { try cache.store(key, pattern(10, seed: UInt64(index))) }
    await cache.close()
    let again = try test.open()
    for (index, key) in keys.enumerated() {
      #expect(await again.blob(key, 10)?.content == pattern(10, seed: UInt64(index)))
      #expect(await again.catalogue.object(key)?.hasBlob == true)
    }
    let listed = try test.inspector.objects(of: test.source())
    #expect(listed.map(\.key) == keys.sorted())
    #expect(
      await again.catalogue.directory(ObjectKey("a/"))?.objects.map(\.key)
        == keys.filter { $0.bytes.starts(with: [0x61, 0x2F]) }.sorted())
    await again.close()
  }

  @Test func `whether there is a copy is said of the current revision`() async throws {
    try cache.store(ObjectKey("d/f"), pattern(10))
    #expect(await catalogue.object(ObjectKey("d/f"))?.hasBlob == true)
    #expect(await catalogue.directory(ObjectKey("d/"))?.objects.first?.hasBlob == true)
    catalogue.record(object(ObjectKey("d/f"), revision(10, "v2")))
    #expect(await catalogue.object(ObjectKey("d/f"))?.hasBlob == false)
    #expect(await catalogue.directory(ObjectKey("d/"))?.objects.first?.hasBlob == false)
    await cache.close()
  }

  @Test func `a hundred thousand listed keys are recorded and found`() async throws {
    for page in 0..<100 {
      for index in 0..<1000 {
        let key = "dir/\(1_000_000 + page * 1000 + index)"
        catalogue.record(object(ObjectKey(key), revision(index, "0123456789abcdef0123456789abcdef"), at: 3))
      }
    }
    let found = await catalogue.directory(ObjectKey("dir/"))
    #expect(found?.objects.count == 100_000)
    #expect(found?.objects.first?.key == ObjectKey("dir/1000000"))
    #expect(found?.objects.last?.key == ObjectKey("dir/1099999"))
    await cache.close()
  }

  @Test func `what was recorded is on disk without being asked for`() async throws {
    catalogue.record(object(ObjectKey("f"), revision(1)))
    try cache.store(ObjectKey("g"), pattern(3))
    // Real time: the thread has a second.
    var seen = 0
    for _ in 0..<100 where seen == 0 {
      try await Task.sleep(for: .milliseconds(50))
      seen = try test.inspector.objects(of: test.source()).count
    }
    #expect(seen == 1)
    await cache.close()
  }

  @Test func `a closed cache answers with nothing`() async throws {
    try cache.store(ObjectKey("f"), pattern(3))
    await cache.close()
    #expect(await cache.blob(ObjectKey("f"), 3) == nil)
    #expect(await catalogue.object(ObjectKey("f")) == nil)
    #expect(await cache.makeRoom(1).made == false)
    await catalogue.flush()
    await cache.close()
  }
}
