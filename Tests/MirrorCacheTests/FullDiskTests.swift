import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCache

/// A file system of 4 MiB, gone with its owner; nil where this user can't mount one.
private final class SmallDisk {
  let path: String
  init?(_ path: String) throws {
    self.path = path
    try FileSystem.makeDirectory(path)
    let mounted = try runBlocking(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", path])
    if mounted.status != 0 { return nil }
  }
  deinit { _ = try? runBlocking(["umount", "-l", path]) }
}

@Suite(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0))
struct FullDiskTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  @Test func `a full disk fails writers, keeps what fitted, and loses no row`() async throws {
    guard let disk = try SmallDisk(test.root) else { return }
    var cache = try test.open()
    let early = try cache.store(ObjectKey("early"), pattern(1000))
    await cache.catalogue.flush()

    let size = 9 << 20
    let bytes = pattern(size)
    let blob = try cache.makeBlob(ObjectKey("large"), ObjectMetadata(revision: revision(size)))
    let writer = blob.writer(at: 0, upTo: Int64(size))
    #expect(throws: Errno.noSpace) {
      for offset in stride(from: 0, to: size, by: 50_000) {
        try writer.write(Array(bytes[offset..<min(size, offset + 50_000)]).span.bytes)
      }
    }
    #expect(throws: Errno.noSpace) { try writer.write([1].span.bytes) }
    let stored = writer.finish()
    #expect(stored > 0 && stored == blob.cachedBytes && !blob.isComplete)
    #expect(try blob.read(0..<stored) == Array(bytes[..<Int(stored)]))

    // The rest of the disk goes too, and the catalogue has nowhere to write.
    let filler = try File.openOrCreate(disk.path + "/filler", mode: 0o600)
    var end: Int64 = 0
    while (try? filler.write([UInt8](repeating: 7, count: 512), at: end)) != nil { end += 512 }
    for index in 0..<5000 {
      cache.catalogue.record(
        .object(ObjectKey("k\(index)"), revision(index), storageClass: nil, validated: WallTime(seconds: 1)))
    }
    await cache.catalogue.flush()
    let refused = try CatalogueStore(Connection(cache.directory + "/catalogue.sqlite", .readOnly))
    #expect(try refused.object(ObjectKey("k4999")) == nil)
    #expect(early.content == pattern(1000))
    _ = await cache.catalogue.object(ObjectKey("k7"))
    // A copy whose row can't be written is found all the same, or each reader would make another.
    let late = try cache.makeBlob(ObjectKey("late"), ObjectMetadata(revision: revision(1000)))
    await cache.catalogue.flush()
    #expect(await cache.blob(ObjectKey("late"), revision(1000)) === late)

    try FileSystem.removeFile(disk.path + "/filler")
    try filler.resize(to: 0)
    cache.retire(blob)
    await cache.catalogue.flush()
    await cache.catalogue.flush()
    #expect(await cache.catalogue.object(ObjectKey("k4999"))?.revision == revision(4999))
    #expect(!exists(blob.path))
    await cache.close()
    cache = try test.open()
    #expect(await cache.catalogue.directory(ObjectKey(""))?.objects.count == 5001)
    #expect(await cache.blob(ObjectKey("early"), 1000)?.content == pattern(1000))
    await cache.close()
  }
}
