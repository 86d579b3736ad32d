import Glibc
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct InspectorTests {
  let test: TestCache
  var inspector: CacheInspector { test.inspector }
  init() throws { test = try TestCache() }

  /// `a/1` of 1 KiB, `a/b/2` of 8 KiB, `c` of 3 blocks of which one is here.
  private func fill() async throws -> Cache {
    let cache = try test.open()
    try cache.store(ObjectKey("a/1"), pattern(1024))
    try cache.store(ObjectKey("a/b/2"), pattern(8192))
    let part = try cache.makeBlob(ObjectKey("c"), ObjectMetadata(revision: revision(3 * block)))
    try part.write(pattern(block), at: Int64(block))
    await cache.catalogue.flush()
    return cache
  }

  @Test func `a root that is not there has no sources`() throws { #expect(try inspector.sources() == []) }

  @Test(arguments: [true, false])
  func `objects are listed while a process owns the cache and after`(live: Bool) async throws {
    let cache = try await fill()
    if !live { await cache.close() }
    let source = try test.source()
    #expect(source.owner == (live ? getpid() : nil))
    #expect(source.identity == SourceIdentity(test.configuration))
    let objects = try inspector.objects(of: source)
    #expect(objects.map(\.key) == ["a/1", "a/b/2", "c"].map { ObjectKey($0) })
    #expect(objects.map(\.cachedBytes) == [1024, 8192, Int64(block)])
    #expect(objects.map(\.size) == [1024, 8192, Int64(3 * block)])
    #expect(objects.map(\.isComplete) == [true, true, false])
    #expect(objects.map(\.validated) == [WallTime(seconds: 5), WallTime(seconds: 5), nil])
    #expect(objects[0].etag == EntityTag("\"v1\"") && objects[0].lastModified == 1_600_000_000)
    #expect(try inspector.objects(of: source, under: ObjectKey("a/b")).map(\.key) == [ObjectKey("a/b/2")])
    #expect(try inspector.objects(of: source, by: .size).map(\.size) == [Int64(3 * block), 8192, 1024])
    #expect(try inspector.objects(of: source, by: .leastRecentlyUsed).map(\.key.text) == ["a/1", "a/b/2", "c"])
    if live { await cache.close() }
  }

  @Test func `totals add up by the next part of the key, and to what the disk says`() async throws {
    let cache = try await fill()
    await cache.close()
    let source = try test.source()
    let totals = try inspector.totals(of: source)
    #expect(totals.map(\.key) == [ObjectKey("a/"), ObjectKey("c")])
    #expect(totals.map(\.objects) == [2, 1] && totals.map(\.cachedBytes) == [9216, Int64(block)])
    #expect(try inspector.totals(of: source, under: ObjectKey("a/")).map(\.key.text) == ["a/1", "a/b/"])
    let total = try inspector.total(of: source)
    let onDisk = try test.blobFiles(cache).reduce(0) { $0 + (try FileSystem.attributes($1).allocated) }
    #expect(total.diskBytes == onDisk && total.size == Int64(9216 + 3 * block))
  }

  @Test func `looking changes neither order nor content`() async throws {
    let cache = try await fill()
    await cache.close()
    let source = try test.source()
    let before = try inspector.objects(of: source)
    _ = try inspector.verify(source)
    #expect(try inspector.objects(of: source) == before)
  }

  @Test func `verify finds each kind of damage and repair drops it`() async throws {
    var cache = try test.open()
    var paths: [String: String] = [:]
    for name in ["good", "flipped", "short", "missing"] {
      paths[name] = try cache.store(ObjectKey(name), pattern(2 * block)).path
    }
    await cache.close()
    let source = try test.source()
    #expect(try inspector.verify(source).damaged == [])
    try flipByte(of: #require(paths["flipped"]), at: Int64(block + 1))
    #expect(truncate(try #require(paths["short"]), block) == 0)
    try FileSystem.removeFile(#require(paths["missing"]))

    var calls = 0
    let found = try inspector.verify(source) { progress in
      calls += 1
      #expect(progress.totalObjects == 4 && progress.objects == calls)
      return true
    }
    #expect(calls == 4 && found.dropped == 0 && found.bytes == found.totalBytes)
    let expected: [CacheDamage] = [
      CacheDamage(key: ObjectKey("flipped"), kind: .bytes(Int64(block)..<Int64(2 * block))),
      CacheDamage(key: ObjectKey("short"), kind: .wrongSize(Int64(block))),
      CacheDamage(key: ObjectKey("missing"), kind: .missing),
    ]
    #expect(Set(found.damaged) == Set(expected))
    let repaired = try inspector.verify(source, repair: true)
    #expect(repaired.dropped == 2 && repaired.droppedBlocks == 1)
    #expect(try inspector.verify(source).damaged == [])
    cache = try test.open()
    #expect(cache.usage().objects == 2 && cache.usage().bytes == Int64(3 * block))
    #expect(await cache.blob(ObjectKey("good"), 2 * block)?.content == pattern(2 * block))
    // Only the damaged block is missing, and can be written anew.
    let flipped = try #require(await cache.blob(ObjectKey("flipped"), 2 * block))
    #expect(!flipped.isComplete && flipped.isReadable(0..<Int64(block)))
    #expect(flipped.missing(from: 0, limit: .max) == Int64(block)..<Int64(2 * block))
    try flipped.write(Array(pattern(2 * block)[block...]), at: Int64(block))
    #expect(flipped.content == pattern(2 * block))
    await cache.close()
  }

  @Test func `a copy that the owner lets go is no damage, one that is missing is`() async throws {
    let cache = try test.open()
    let paths = try ["kept", "retired", "missing"].map { try cache.store(ObjectKey($0), pattern(block)).path }
    await cache.catalogue.flush()
    let retired = try #require(await cache.blob(ObjectKey("retired"), block))
    cache.retire(retired)
    while exists(paths[1]) { await Task.yield() }
    try FileSystem.removeFile(paths[2])
    let found = try inspector.verify(test.source())
    #expect(found.damaged == [CacheDamage(key: ObjectKey("missing"), kind: .missing)])
    await cache.close()
  }

  @Test func `an owner that dies while its copies are checked leaves no damage`() async throws {
    let cache = try test.open()
    let path = try cache.store(ObjectKey("evicted"), pattern(block)).path
    await cache.catalogue.flush()
    let source = try test.source()
    #expect(source.owner != nil)
    // Evicted, and killed before the row went.
    try FileSystem.removeFile(path)
    await cache.abandon()
    #expect(try inspector.verify(source).damaged == [])
  }

  @Test func `a catalogue whose maker died before its first word is none yet`() async throws {
    let cache = try await fill()
    await cache.close()
    let source = try test.source()
    #expect(truncate(source.directory + "/catalogue.sqlite", 0) == 0)
    let found = try inspector.verify(source)
    #expect(found.objects == 0 && found.damaged == [])
    #expect(try inspector.objects(of: source) == [])
    #expect(try inspector.verify(source, repair: true).dropped == 0)
  }

  @Test func `verify can be ended and looks only under its prefix`() async throws {
    let cache = try await fill()
    await cache.close()
    #expect(try inspector.verify(test.source()) { _ in false }.objects == 1)
    #expect(try inspector.verify(test.source(), under: ObjectKey("a/")).objects == 2)
  }

  @Test func `a live cache is verified but neither repaired nor evicted`() async throws {
    let cache = try await fill()
    let source = try test.source()
    #expect(try inspector.verify(source).damaged == [])
    for change in [
      { _ = try inspector.verify(source, repair: true) }, { _ = try inspector.evict(source) },
      { try inspector.pin(source, under: ObjectKey("a"), true) }, { _ = try inspector.collectGarbage(source) },
    ] {
      let error = #expect(throws: CacheError.self) { try change() }
      #expect(error?.code == .locked(getpid()))
    }
    await cache.close()
  }

  @Test func `evict deletes under a prefix, down to a size, but nothing pinned`() async throws {
    var cache = try await fill()
    await cache.close()
    let source = try test.source()
    try inspector.pin(source, under: ObjectKey("c"), true)
    #expect(try inspector.evict(source, under: ObjectKey("a/"), downTo: 8192) == (1, 1024))
    #expect(try inspector.objects(of: source).map(\.key.text) == ["a/b/2", "c"])
    #expect(try inspector.evict(source) == (1, 8192))
    #expect(try inspector.objects(of: source).map(\.isPinned) == [true])
    cache = try test.open()
    #expect(cache.usage().objects == 1 && cache.usage().bytes == Int64(block))
    #expect(try test.blobFiles(cache).count == 1)
    await cache.close()
  }

  @Test func `garbage is collected`() async throws {
    let cache = try await fill()
    await cache.close()
    let stray = SourceDirectory.blobPath(77, under: cache.directory + "/blobs")
    try FileSystem.makeDirectories(#require(FileSystem.parent(of: stray)))
    try FileSystem.write([1], to: stray, mode: 0o600)
    #expect(try inspector.collectGarbage(test.source(), clock: test.clock).strayFiles == 1)
    #expect(!exists(stray))
    #expect(try inspector.verify(test.source()).objects == 3)
  }
}
