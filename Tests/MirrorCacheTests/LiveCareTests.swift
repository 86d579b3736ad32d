// What an owner does to its own cache when it is asked, and what others see of it.
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct LiveCareTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  @Test func `a damaged block is dropped in a living cache, and comes anew`() async throws {
    let cache = try test.open()
    let key = ObjectKey("a")
    var blob: Blob? = try cache.store(key, pattern(3 * block))
    try cache.store(ObjectKey("b"), pattern(10))
    await cache.catalogue.flush()
    let path = try #require(blob?.path)
    for isLoaded in [true, false] {
      if !isLoaded { blob = nil }
      #expect(await cache.recheck(key) == 0)
      try flipByte(of: path, at: Int64(block + 5))
      #expect(await cache.recheck(key) == 1)
      #expect(await cache.recheck(key) == 0)
      let found = try #require(await cache.blob(key, 3 * block))
      #expect(!found.isComplete && found.content == nil && found.isReadable(0..<Int64(block)))
      #expect(cache.usage().bytes == Int64(2 * block + 10))
      try found.write(Array(pattern(3 * block)[block..<2 * block]), at: Int64(block))
      #expect(found.content == pattern(3 * block))
      await cache.catalogue.flush()
      #expect(try test.inspector.verify(test.source()).damaged == [])
    }
    await cache.close()
  }

  @Test func `what was mended stays so over a restart`() async throws {
    var cache = try test.open()
    let path = try cache.store(ObjectKey("a"), pattern(2 * block)).path
    await cache.catalogue.flush()
    try flipByte(of: path, at: 0)
    #expect(await cache.recheck(ObjectKey("a")) == 1)
    await cache.close()
    cache = try test.open()
    let found = try #require(await cache.blob(ObjectKey("a"), 2 * block))
    #expect(found.missing(from: 0, limit: .max) == 0..<Int64(block))
    #expect(found.isReadable(Int64(block)..<Int64(2 * block)))
    await cache.close()
  }

  @Test func `a copy without its file is dropped`() async throws {
    var cache = try test.open()
    let path = try cache.store(ObjectKey("a"), pattern(10)).path
    await cache.close()
    cache = try test.open()
    try FileSystem.removeFile(path)
    #expect(await cache.recheck(ObjectKey("a")) == 1)
    #expect(cache.usage().objects == 0)
    await cache.close()
  }

  @Test func `a living cache evicts under a prefix, but nothing pinned or in use`() async throws {
    let cache = try test.open()
    for name in ["a/1", "a/2", "a/pinned", "b"] { try cache.store(ObjectKey(name), pattern(100)) }
    let used = try cache.store(ObjectKey("a/used"), pattern(100))
    used.retain()
    await cache.pin(ObjectKey("a/pinned"), true)
    await cache.catalogue.flush()
    // What was just handed out counts as used for a while.
    test.clock.advance(.seconds(60))
    var done = await cache.evict(under: ObjectKey("a/"))
    #expect(done.objects == 2 && done.bytes == 200 && done.inUse == [ObjectKey("a/used")])
    #expect(cache.usage().objects == 3)
    used.release()
    test.clock.advance(.seconds(60))
    done = await cache.evict(under: ObjectKey("a/"))
    #expect(done.objects == 1 && done.inUse == [])
    #expect(try test.inspector.objects(of: test.source()).map(\.key.text) == ["a/pinned", "b"])
    await cache.close()
  }

  @Test func `a living cache takes away what nobody knows, and comes under a limit`() async throws {
    var cache = try test.open()
    for number in 0..<4 { try cache.store(ObjectKey("\(number)"), pattern(4096)) }
    await cache.close()
    cache = try test.open()
    test.clock.advance(.seconds(60))
    // The sweep of the beginning is over then.
    await cache.catalogue.flush()
    let files = try test.blobFiles(cache)
    let stray = try #require(files.first.flatMap(FileSystem.parent(of:))) + "/" + "256"
    let home = SourceDirectory.blobPath(256, under: cache.directory + "/blobs")
    try FileSystem.makeDirectories(#require(FileSystem.parent(of: home)))
    try FileSystem.write([1], to: home, mode: 0o600)
    let garbage = await cache.collectGarbage(CacheLimits(size: 8192))
    #expect(garbage.strayFiles == 1 && garbage.evicted == 2 && !exists(home))
    #expect(!exists(stray) || stray == home)
    #expect(try test.inspector.objects(of: test.source()).map(\.key.text) == ["2", "3"])
    #expect(await cache.collectGarbage(CacheLimits()) == CacheGarbage())
    await cache.close()
  }

  @Test func `keys without a name are remembered with their reasons`() async throws {
    let cache = try test.open()
    cache.catalogue.record(.hidden(ObjectKey([0x61, 0x2F, 0x2F, 0xFF]), "it has an empty name"))
    cache.catalogue.record(.hidden(ObjectKey("b"), "a directory has the same name"))
    cache.catalogue.record(.hidden(ObjectKey("b"), "a directory has the same name"))
    await cache.close()
    let source = try test.source()
    let found = try test.inspector.hiddenKeys(of: source)
    #expect(found.map(\.key) == [ObjectKey([0x61, 0x2F, 0x2F, 0xFF]), ObjectKey("b")])
    #expect(found.map(\.reason) == ["it has an empty name", "a directory has the same name"])
    #expect(found.allSatisfy { $0.seen == test.clock.wall() })
    #expect(try test.inspector.hiddenKeys(of: source, under: ObjectKey("b")).count == 1)
    test.clock.advance(.seconds(40 * 86400))
    try test.inspector.collectGarbage(source, clock: test.clock)
    #expect(try test.inspector.hiddenKeys(of: source) == [])
  }

  @Test func `copies are read from outside, and damage is not given out`() async throws {
    let cache = try test.open()
    let path = try cache.store(ObjectKey("a"), pattern(2 * block + 7)).path
    await cache.catalogue.flush()
    let source = try test.source()
    func content() throws -> [UInt8]? {
      var found: [UInt8]?
      try test.inspector.forEachCopy(of: source) { copy in
        var bytes: [UInt8] = []
        do throws(Errno) {
          try copy.read { bytes += $0 }
          found = bytes
        } catch { found = nil }
        return true
      }
      return found
    }
    #expect(try content() == pattern(2 * block + 7))
    try flipByte(of: path, at: Int64(2 * block + 1))
    #expect(try content() == nil)
    await cache.close()
  }
}
