import Glibc
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

/// `cache gc`: what is of no use goes, what is of use stays, and a clean end stays one.
@Suite(.timeLimit(.minutes(1)))
struct GarbageTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  private func collect(_ limits: CacheLimits = CacheLimits()) throws -> CacheGarbage {
    try test.inspector.collectGarbage(test.source(), limits: limits, clock: test.clock)
  }

  private var now: WallTime { test.clock.wall() }

  @Test func `a cache in good order loses nothing`() async throws {
    let cache = try test.open()
    for name in ["photos/a", "photos/b/c"] { try cache.store(ObjectKey(name), pattern(3 * block)) }
    cache.catalogue.record(.directory(ObjectKey("photos/b/"), listed: now))
    cache.catalogue.record(.absent(ObjectKey("photos/x"), until: WallTime(seconds: now.seconds + 600)))
    await cache.close()
    #expect(try collect() == CacheGarbage())
    let again = try test.open()
    #expect(await again.blob(ObjectKey("photos/b/c"), 3 * block)?.content == pattern(3 * block))
    #expect(await again.catalogue.listing(ObjectKey("photos/b/")) != nil)
    #expect(await again.catalogue.absence(ObjectKey("photos/x")) != nil)
    #expect(again.usage().objects == 2)
    await again.close()
  }

  @Test func `files without rows, rows without files, and what was superseded go`() async throws {
    let cache = try test.open()
    var paths: [String: String] = [:]
    for name in ["kept", "missing", "short", "old"] {
      paths[name] = try cache.store(ObjectKey(name), pattern(2 * block)).path
    }
    await cache.close()
    let source = try test.source()
    try FileSystem.removeFile(#require(paths["missing"]))
    #expect(truncate(try #require(paths["short"]), block) == 0)
    let stray = SourceDirectory.blobPath(77, under: source.directory + "/blobs")
    try FileSystem.makeDirectories(#require(FileSystem.parent(of: stray)))
    try FileSystem.write(pattern(block), to: stray, mode: 0o600)
    do {
      let connection = try Connection(source.directory + "/catalogue.sqlite", .readWrite)
      try connection.execute("UPDATE objects SET etag = 'another' WHERE name = CAST('old' AS BLOB)")
    }
    let garbage = try collect()
    #expect((garbage.strayFiles, garbage.lostCopies, garbage.superseded, garbage.evicted) == (1, 2, 1, 0))
    #expect(garbage.freedBytes >= Int64(4 * block))
    #expect(!exists(stray))
    #expect(try collect() == CacheGarbage())
    let again = try test.open()
    #expect(again.usage().objects == 1 && again.usage().bytes == Int64(2 * block))
    #expect(await again.blob(ObjectKey("kept"), 2 * block)?.content == pattern(2 * block))
    await again.close()
  }

  @Test(arguments: [CacheLimits(size: 5 * 131_072), CacheLimits(size: 0), CacheLimits(minimumFree: 1 << 60)])
  func `what goes beyond the limits is evicted, the least recently used first, but nothing pinned`(limits: CacheLimits)
    async throws
  {
    let cache = try test.open()
    for number in 0..<10 {
      try cache.store(ObjectKey("f\(number)"), pattern(block))
      test.clock.advance(.seconds(1))
    }
    await cache.pin(ObjectKey("f0"), true)
    await cache.close()
    let garbage = try collect(limits)
    let left = try test.inspector.objects(of: test.source()).map(\.key.text)
    let expected = limits.size == 5 * 131_072 ? ["f0", "f6", "f7", "f8", "f9"] : ["f0"]
    #expect(left == expected)
    #expect(garbage.evicted == 10 - expected.count)
    #expect(garbage.freedBytes >= Int64(garbage.evicted * block))
  }

  @Test func `names of long ago go where nothing below them is of use`() async throws {
    let cache = try test.open()
    let old = now
    func list(_ directory: String, _ time: WallTime) {
      cache.catalogue.record(.directory(ObjectKey(directory), listed: time))
      for name in ["1", "2"] {
        cache.catalogue.record(
          .object(ObjectKey(directory + name), revision(5), storageClass: nil, validated: time))
      }
    }
    for directory in ["photos/", "photos/gone/", "photos/gone/deep/", "photos/copy/", "photos/up/", "photos/up/new/"] {
      list(directory, old)
    }
    try cache.store(ObjectKey("photos/copy/3"), pattern(10))
    test.clock.advance(.seconds(31 * 86400))
    list("photos/up/new/", now)
    await cache.close()
    #expect(try collect().names == 6)
    let again = try test.open()
    for (directory, isKnown) in [
      ("photos/", true), ("photos/gone/", false), ("photos/gone/deep/", false), ("photos/copy/", true),
      ("photos/up/", true), ("photos/up/new/", true),
    ] {
      #expect(
        await again.catalogue.directory(ObjectKey(directory)).map { $0.objects.count >= 2 } == (isKnown ? true : nil))
    }
    await again.close()
  }

  @Test func `what a catalogue needs no more it gives back`() async throws {
    let cache = try test.open()
    for number in 0..<20_000 {
      cache.catalogue.record(.absent(ObjectKey("directory/name-\(number)"), until: WallTime(seconds: now.seconds + 60)))
    }
    cache.catalogue.saveLedger([
      LedgerEntry(day: 10, prefix: ObjectKey("a/"), RequestClass(.get, .success)): Tally(requests: 1, bytes: 1)
    ])
    await cache.close()
    test.clock.advance(.seconds(100))
    let path = try test.source().directory + "/catalogue.sqlite"
    let before = try FileSystem.attributes(path).size
    let garbage = try collect()
    #expect(garbage.absences == 20_000 && garbage.ledgerRows == 1)
    #expect(try FileSystem.attributes(path).size < before / 2)
    #expect(garbage.freedBytes > 0)
    #expect(try collect() == CacheGarbage())
  }

  @Test func `a cache that was not closed is taken care of, and its copies still have to prove themselves`()
    async throws
  {
    let cache = try test.open()
    let path = try cache.store(ObjectKey("f"), pattern(2 * block)).path
    await cache.catalogue.flush()
    await cache.abandon()
    #expect(try collect().lostCopies == 0)
    try flipByte(of: path, at: 5)
    let again = try test.open()
    #expect(again.usage().objects == 1)
    #expect(await again.blob(ObjectKey("f"), 2 * block)?.content == nil)
    await again.close()
  }
}
