import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct EvictionTests {
  private let page: Int64 = 4096

  private func fill(_ cache: Cache, _ names: [String]) throws -> [Blob] {
    try names.map { name in
      #expect(cache.reserve(page))
      let blob = try cache.store(ObjectKey(name), pattern(4096))
      blob.retain()
      blob.release()
      return blob
    }
  }

  private func names(_ cache: Cache, among names: [String]) async -> [String] {
    var found: [String] = []
    for name in names where await cache.blob(ObjectKey(name), 4096) != nil { found.append(name) }
    return found
  }

  @Test func `the least recently used go first`() async throws {
    let test = try TestCache(limit: 4 * page)
    let cache = try test.open()
    let blobs = try fill(cache, ["a", "b", "c", "d"])
    #expect(!cache.reserve(1))
    blobs[0].touch()
    #expect(await cache.makeRoom(page).made)
    #expect(await names(cache, among: ["a", "b", "c", "d"]) == ["a", "c", "d"])
    #expect(!exists(blobs[1].path) && blobs[1].isGone && !blobs[1].retain())
    #expect(throws: Errno.noEntry) { try blobs[1].file() }
    #expect(cache.usage().diskBytes == 3 * page && cache.usage().reserved == page && cache.usage().objects == 3)
    await cache.close()
  }

  @Test func `the order of use outlives the process`() async throws {
    let test = try TestCache(limit: 3 * page)
    var cache = try test.open()
    let blobs = try fill(cache, ["a", "b", "c"])
    blobs[0].touch()
    blobs[1].retain()
    blobs[1].touch()
    blobs[1].release()
    await cache.close()
    cache = try test.open()
    #expect(await cache.makeRoom(page).made)
    #expect(await names(cache, among: ["a", "b", "c"]) == ["a", "b"])
    await cache.close()
  }

  @Test func `what is retained is named and never evicted`() async throws {
    let test = try TestCache(limit: 3 * page)
    let cache = try test.open()
    let blobs = try fill(cache, ["a", "b", "c"])
    blobs[0].retain()
    blobs[2].retain()
    blobs[0].touch()
    #expect(cache.usage().retained == 2 && cache.usage().retainedBytes == 2 * page)
    #expect(await cache.makeRoom(page) == (true, []))
    let (made, candidates) = await cache.makeRoom(page)
    #expect(!made && candidates == [ObjectKey("c"), ObjectKey("a")])
    #expect(blobs[0].content == pattern(4096) && blobs[1].isGone)
    blobs[2].release()
    #expect(await cache.makeRoom(page).made)
    #expect(blobs[2].isGone && !blobs[0].isGone)
    await cache.close()
  }

  @Test func `room is not looked for without end while the catalogue takes no changes`() async throws {
    let test = try TestCache(limit: 3 * page)
    let cache = try test.open()
    let blobs = try fill(cache, ["a", "b", "c"])
    blobs.forEach { $0.retain() }
    await cache.catalogue.flush()
    let other = try Connection(cache.directory + "/catalogue.sqlite", .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    let (made, candidates) = await cache.makeRoom(page)
    #expect(!made && candidates.count == 3)
    try other.execute("ROLLBACK")
    blobs.forEach { $0.release() }
    #expect(await cache.makeRoom(page).made)
    await cache.close()
  }

  @Test func `a blob is safe from being handed out to being released, or for half a minute`() async throws {
    let test = try TestCache(limit: page)
    let cache = try test.open()
    #expect(cache.reserve(page))
    let blob = try cache.store(ObjectKey("a"), pattern(4096))
    #expect(await cache.makeRoom(page).made == false)
    test.clock.advance(.seconds(31))
    #expect(await cache.makeRoom(page).made)
    #expect(blob.isGone)
    await cache.close()
  }

  @Test func `a blob that is being written is not evicted`() async throws {
    let test = try TestCache(limit: 2 * Int64(block))
    let cache = try test.open()
    #expect(cache.reserve(2 * Int64(block)))
    let blob = try cache.makeBlob(ObjectKey("a"), ObjectMetadata(revision: revision(2 * block)))
    blob.retain()
    blob.release()
    let writer = blob.writer(at: 0, upTo: Int64(2 * block))
    try writer.write(pattern(block + 1).span.bytes)
    #expect(cache.usage().reserved == Int64(block))
    #expect(await cache.makeRoom(1).made == false)
    cache.giveBack(2 * Int64(block) - writer.finish())
    #expect(await cache.makeRoom(2 * Int64(block)).made && blob.isGone)
    await cache.close()
  }

  @Test func `a wish beyond the limit evicts nothing`() async throws {
    let test = try TestCache(limit: 3 * page)
    let cache = try test.open()
    _ = try fill(cache, ["a", "b", "c"])
    #expect(await cache.makeRoom(3 * page + 1).made == false)
    #expect(cache.usage().objects == 3)
    await cache.close()
  }

  @Test func `the disk keeps its minimum free`() async throws {
    let test = try TestCache(limit: 100 * page, minimumFree: 1000 * page)
    test.setFree(1003 * page)
    let cache = try test.open()
    #expect(cache.reserve(3 * page) && !cache.reserve(1))
    cache.giveBack(3 * page)
    _ = try fill(cache, ["a", "b", "c"])
    test.setFree(999 * page)
    #expect(!cache.reserve(0))
    // Nothing that is deleted frees this disk: all goes, and the answer is no.
    #expect(await cache.makeRoom(page).made == false)
    #expect(cache.usage().objects == 0)
    test.setFree(nil)
    #expect(cache.reserve(page))
    await cache.close()
  }

  @Test func `a lower limit shrinks the cache when it is opened`() async throws {
    let test = try TestCache(limit: 5 * page)
    var cache = try test.open()
    _ = try fill(cache, ["a", "b", "c", "d", "e"])
    await cache.close()
    cache = try test.open(limit: 2 * page)
    await cache.catalogue.flush()
    #expect(cache.usage().diskBytes == 2 * page)
    #expect(await names(cache, among: ["a", "b", "c", "d", "e"]) == ["d", "e"])
    await cache.close()
  }

  @Test func `small files count as the pages they take`() async throws {
    let test = try TestCache(limit: 2 * page)
    let cache = try test.open()
    try cache.store(ObjectKey("a"), pattern(1))
    try cache.store(ObjectKey("b"), pattern(10))
    #expect(cache.usage().bytes == 11 && cache.usage().diskBytes == 2 * page && !cache.reserve(1))
    await cache.close()
  }

  @Test func `what is pinned stays, also what is cached later`() async throws {
    let test = try TestCache(limit: 3 * page)
    var cache = try test.open()
    _ = try fill(cache, ["p/a", "q"])
    await cache.pin(ObjectKey("p/a"), true)
    await cache.pin(ObjectKey("p/b"), true)
    _ = try fill(cache, ["p/b"])
    await cache.close()
    cache = try test.open()
    #expect(try test.inspector.objects(of: test.source()).map(\.isPinned) == [true, true, false])
    #expect(await cache.makeRoom(page).made)
    #expect(await cache.makeRoom(page).made == false)
    #expect(await names(cache, among: ["p/a", "p/b", "q"]) == ["p/a", "p/b"])
    await cache.pin(ObjectKey("p/a"), false)
    for name in ["p/a", "p/b"] {
      let blob = await cache.blob(ObjectKey(name), 4096)
      blob?.retain()
      blob?.release()
    }
    #expect(await cache.makeRoom(page).made)
    #expect(await names(cache, among: ["p/a", "p/b"]) == ["p/b"])
    await cache.close()
  }

  @Test func `a part of what is pinned can't be unpinned alone`() async throws {
    let test = try TestCache(limit: page)
    let cache = try test.open()
    _ = try fill(cache, ["p/a"])
    await cache.pin(ObjectKey("p/"), true)
    await cache.pin(ObjectKey("p/a"), false)
    #expect(await cache.makeRoom(page).made == false)
    await cache.pin(ObjectKey(""), false)
    #expect(await cache.makeRoom(page).made)
    await cache.close()
  }

  @Test func `what is retained is counted as it grows`() async throws {
    let test = try TestCache()
    let cache = try test.open()
    let blob = try cache.makeBlob(ObjectKey("f"), ObjectMetadata(revision: revision(2 * block)))
    blob.retain()
    blob.retain()
    try blob.write(pattern(block), at: 0)
    #expect(cache.usage().retained == 1 && cache.usage().retainedBytes == Int64(block))
    try blob.write(pattern(block), at: Int64(block))
    blob.release()
    #expect(cache.usage().retained == 1 && cache.usage().retainedBytes == Int64(2 * block))
    blob.release()
    #expect(cache.usage().retained == 0 && cache.usage().retainedBytes == 0)
    await cache.close()
  }

  @Test func `a retired blob lives while it is retained`() async throws {
    let test = try TestCache()
    let cache = try test.open()
    let blob = try cache.store(ObjectKey("f"), pattern(4096))
    blob.retain()
    cache.retire(blob)
    await cache.catalogue.flush()
    #expect(blob.content == pattern(4096) && exists(blob.path) && cache.usage().objects == 1)
    blob.release()
    await cache.catalogue.flush()
    #expect(blob.isGone && !exists(blob.path) && cache.usage().objects == 0 && cache.usage().bytes == 0)
    #expect(await cache.blob(ObjectKey("f"), 4096) == nil)
    await cache.close()
  }

  @Test func `a retired blob lives while it is written`() async throws {
    let test = try TestCache()
    let cache = try test.open()
    let blob = try cache.makeBlob(ObjectKey("f"), ObjectMetadata(revision: revision(4096)))
    let writer = blob.writer(at: 0, upTo: 4096)
    cache.retire(blob)
    await cache.catalogue.flush()
    try writer.write(pattern(4096).span.bytes)
    #expect(blob.content == pattern(4096))
    writer.finish()
    await cache.catalogue.flush()
    #expect(blob.isGone && !exists(blob.path))
    await cache.close()
  }

  @Test func `a revision that comes back brings its retired blob back`() async throws {
    let test = try TestCache()
    let cache = try test.open()
    let blob = try cache.store(ObjectKey("f"), pattern(4096))
    blob.retain()
    cache.catalogue.record(
      .object(ObjectKey("f"), revision(4096, "v2"), storageClass: nil, validated: WallTime(seconds: 9)))
    await cache.catalogue.flush()
    #expect(await cache.blob(ObjectKey("f"), 4096) === blob)
    blob.release()
    await cache.catalogue.flush()
    #expect(exists(blob.path) && !blob.isGone)
    await cache.close()
  }

  @Test func `copies of a superseded or removed key go, also those that nobody has opened`() async throws {
    let test = try TestCache()
    var cache = try test.open()
    for name in ["a", "b", "c"] { try cache.store(ObjectKey(name), pattern(4096)) }
    await cache.close()
    cache = try test.open()
    let loaded = try #require(await cache.blob(ObjectKey("c"), 4096))
    cache.catalogue.record(.removed(ObjectKey("a")))
    for name in ["b", "c"] {
      cache.catalogue.record(
        .object(ObjectKey(name), revision(9, "v2"), storageClass: nil, validated: WallTime(seconds: 9)))
    }
    await cache.catalogue.flush()
    #expect(cache.usage().objects == 0 && cache.usage().bytes == 0 && loaded.isGone)
    #expect(try test.blobFiles(cache) == [])
    await cache.close()
  }

  @Test func `retired blobs are deleted when the cache closes`() async throws {
    let test = try TestCache()
    let cache = try test.open()
    let blob = try cache.store(ObjectKey("f"), pattern(4096))
    blob.retain()
    cache.retire(blob)
    await cache.close()
    #expect(!exists(blob.path))
    #expect(try test.inspector.objects(of: test.source()) == [])
  }
}
