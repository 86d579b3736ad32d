import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

/// That a name does not exist is remembered from one process to the next, for as long as it is believed.
@Suite(.timeLimit(.minutes(1)))
struct AbsencesOnDiskTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  private var now: WallTime { test.clock.wall() }
  private func later(_ seconds: Int64) -> WallTime { WallTime(milliseconds: now.milliseconds + seconds * 1000) }

  private func count() throws -> Int64 {
    let connection = try Connection(test.source().directory + "/catalogue.sqlite", .readOnly)
    let query = try connection.prepare("SELECT COUNT(*) FROM absences")
    #expect(try query.step())
    defer { query.reset() }
    return query.int(0)
  }

  @Test func `an absence outlives a killed process, by name and in its directory`() async throws {
    let name = ObjectKey([0x64, 0x2F, 0xFF, 0x00])
    let until = later(60)
    let cache = try test.open()
    cache.catalogue.record(.absent(name, until: until))
    cache.catalogue.record(.absent(ObjectKey("top"), until: later(30)))
    #expect(await cache.catalogue.absence(name) == until)
    #expect(await cache.catalogue.absence(ObjectKey("d/")) == nil)
    await cache.catalogue.flush()
    await cache.abandon()
    let again = try test.open()
    #expect(await again.catalogue.absence(name) == until)
    #expect(
      await again.catalogue.directory(ObjectKey("d/"))?.absences == [
        CatalogueAbsence(name: [0xFF, 0x00], until: until)
      ])
    again.catalogue.record(.absent(name, until: later(90)))
    #expect(await again.catalogue.absence(name) == later(90))
    await again.close()
  }

  @Test func `it ends when a key or a directory of the name is seen, and when it is marked stale`() async throws {
    let cache = try test.open()
    let catalogue = cache.catalogue
    let names = ["d/key", "d/directory", "d/listed", "d/stale", "d/stale/below", "d/stale2", "e"]
    for name in names { catalogue.record(.absent(ObjectKey(name), until: later(60))) }
    catalogue.record(.object(ObjectKey("d/key"), revision(1), storageClass: nil, validated: now))
    catalogue.record(.directory(ObjectKey("d/directory/"), listed: nil))
    catalogue.record(.contents(ObjectKey("d/listed/"), names: [], listed: now))
    #expect(await catalogue.markStale(ObjectKey("d/stale")) == 2)
    var left: [String] = []
    for name in names where await catalogue.absence(ObjectKey(name)) != nil { left.append(name) }
    #expect(left == ["d/stale2", "e"])
    // The key is there again after it went: the absence before does not come back.
    catalogue.record(.removed(ObjectKey("d/key")))
    #expect(await catalogue.absence(ObjectKey("d/key")) == nil)
    #expect(await catalogue.markStale(ObjectKey("")) == 2)
    await cache.close()
  }

  @Test func `what is over is dropped when the cache is opened`() async throws {
    let cache = try test.open()
    cache.catalogue.record(.absent(ObjectKey("short"), until: later(5)))
    cache.catalogue.record(.absent(ObjectKey("long"), until: later(500)))
    await cache.close()
    #expect(try count() == 2)
    test.clock.advance(.seconds(6))
    let again = try test.open()
    #expect(await again.catalogue.absence(ObjectKey("short")) == nil)
    #expect(await again.catalogue.absence(ObjectKey("long")) != nil)
    await again.close()
    #expect(try count() == 1)
  }

  @Test func `fifty thousand are kept at most, those that hold the longest`() async throws {
    let cache = try test.open()
    for number in 0..<53_000 {
      cache.catalogue.record(.absent(ObjectKey("d/\(number)"), until: later(Int64(100 + number))))
    }
    await cache.close()
    #expect(try count() <= Int64(CatalogueStore.largestAbsences))
    #expect(try count() >= 49_000)
    let again = try test.open()
    #expect(await again.catalogue.absence(ObjectKey("d/52999")) != nil)
    #expect(await again.catalogue.absence(ObjectKey("d/0")) == nil)
    await again.close()
  }

  @Test func `a cache of the third version is taken over, and read as it is`() async throws {
    let cache = try test.open()
    try cache.store(ObjectKey("k"), pattern(1000))
    cache.catalogue.record(.said(ObjectKey("k"), "max-age=5"))
    await cache.close()
    let source = try test.source()
    do {
      let connection = try Connection(source.directory + "/catalogue.sqlite", .readWrite)
      try connection.execute(
        """
        DROP TABLE absences; ALTER TABLE objects DROP COLUMN version_id; ALTER TABLE objects DROP COLUMN posix;
        UPDATE meta SET value = 3 WHERE name = 'version';
        """)
    }
    #expect(try test.inspector.objects(of: source).map(\.key) == [ObjectKey("k")])
    #expect(try test.inspector.pins(of: source) == [])
    let again = try test.open()
    #expect(!exists(source.directory + "/catalogue.sqlite.damaged"))
    #expect(await again.blob(ObjectKey("k"), 1000)?.content == pattern(1000))
    #expect(await again.catalogue.object(ObjectKey("k"))?.said == "max-age=5")
    again.catalogue.record(.absent(ObjectKey("gone"), until: later(60)))
    #expect(await again.catalogue.absence(ObjectKey("gone")) == later(60))
    await again.close()
  }
}
