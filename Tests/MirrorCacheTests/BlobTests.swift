import Dispatch
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct BlobTests {
  let test: TestCache
  let cache: Cache
  init() throws {
    test = try TestCache()
    cache = try test.open()
  }

  private func make(_ size: Int) throws -> Blob {
    try cache.makeBlob(ObjectKey("f"), ObjectMetadata(revision: revision(size)))
  }

  @Test(arguments: [1, 4096, block - 1, block, block + 1, 3 * block + 5])
  func `what is written is read`(size: Int) async throws {
    let bytes = pattern(size)
    let blob = try make(size)
    #expect(!blob.isComplete && !blob.isReadable(blob.whole) && blob.cachedBytes == 0)
    #expect(blob.missing(from: 0, limit: .max) == blob.whole)
    #expect(try blob.write(bytes, at: 0) == Int64(size))
    #expect(blob.isComplete && blob.cachedBytes == Int64(size))
    #expect(blob.missing(from: 0, limit: .max) == nil)
    #expect(blob.content == bytes)
    #expect(!blob.isReadable(0..<Int64(size + 1)))
    #expect(await cache.blob(ObjectKey("f"), size) === blob)
    await cache.close()
  }

  @Test func `a copy is found by whoever asks next, though the disk has not told of it yet`() async throws {
    let size = 9 << 20
    let disk = DispatchSemaphore(value: 0)
    cache.shelf.syncer.submit { disk.wait() }
    let blob = try make(size)
    blob.retain()
    #expect(try blob.write(pattern(block), at: 0) == Int64(block))
    blob.release()
    #expect(await cache.blob(ObjectKey("f"), size) === blob)
    disk.signal()
    await cache.close()
  }

  @Test func `what is yet to be proven is read by nobody`() async throws {
    let size = 3 * block
    let blob = try make(size)
    let (first, second) = (0..<Int64(block), Int64(block)..<Int64(3 * block))
    try blob.write(pattern(block), at: 0)
    blob.expectProof(of: second)
    try blob.write(pattern(2 * block), at: Int64(block))
    #expect(blob.isReadable(first) && !blob.isReadable(second) && !blob.isReadable(blob.whole))
    #expect(!blob.isComplete && !blob.isWhole)
    #expect(blob.missing(from: 0, limit: .max) == nil, "it is not fetched twice")
    blob.proven(second)
    #expect(blob.isReadable(blob.whole) && blob.isComplete && blob.isWhole)
    cache.discardDamaged(blob)
    #expect(!blob.isReadable(first) && !blob.isWhole)
    await cache.close()
  }

  @Test(arguments: [false, true])
  func `a copy that turned out damaged is not handed out again, though it is still written`(hasRow: Bool) async throws {
    let size = 4 * block
    let blob = try make(size)
    blob.retain()
    #expect(try blob.write(pattern(block), at: 0) == Int64(block))
    if hasRow { await cache.catalogue.flush() }
    #expect(await cache.blob(ObjectKey("f"), size) === blob)
    // Another part is under way.
    let writer = blob.writer(at: Int64(block), upTo: Int64(2 * block))
    cache.discardDamaged(blob)
    blob.release()
    #expect(await cache.blob(ObjectKey("f"), size) == nil)
    _ = writer.finish()
    await cache.catalogue.flush()
    #expect(await cache.blob(ObjectKey("f"), size) == nil)
    await cache.abandon()
    let again = try test.open()
    #expect(await again.blob(ObjectKey("f"), size) == nil)
    await again.close()
  }

  @Test func `an empty object is complete from the beginning`() async throws {
    let blob = try make(0)
    #expect(blob.isComplete && blob.isReadable(0..<0) && blob.missing(from: 0, limit: 1) == nil)
    #expect(try FileSystem.attributes(blob.path).size == 0)
    await cache.close()
    let again = try test.open()
    #expect(await again.blob(ObjectKey("f"), 0)?.isComplete == true)
    await again.close()
  }

  @Test func `bytes can be read while their block is still arriving`() async throws {
    let bytes = pattern(2 * block)
    let blob = try make(2 * block)
    let writer = blob.writer(at: 0, upTo: Int64(2 * block))
    try writer.write(Array(bytes[..<1000]).span.bytes)
    #expect(writer.position == 1000)
    #expect(blob.isReadable(0..<1000) && !blob.isReadable(0..<1001) && blob.cachedBytes == 0)
    try writer.write(Array(bytes[1000..<block + 7]).span.bytes)
    #expect(blob.isReadable(500..<Int64(block + 7)) && !blob.isReadable(0..<Int64(block + 8)))
    #expect(blob.cachedBytes == Int64(block))
    #expect(try blob.read(0..<Int64(block + 7)) == Array(bytes[..<(block + 7)]))
    await cache.close()
  }

  @Test func `a block that is not full when its run ends is dropped`() async throws {
    let blob = try make(3 * block)
    let writer = blob.writer(at: 0, upTo: Int64(3 * block))
    try writer.write(pattern(block + 100).span.bytes)
    #expect(writer.finish() == Int64(block))
    #expect(blob.isReadable(0..<Int64(block)) && !blob.isReadable(0..<Int64(block + 1)))
    #expect(blob.missing(from: 0, limit: .max) == Int64(block)..<Int64(3 * block))
    await cache.close()
  }

  @Test func `a released writer ends its run`() async throws {
    let blob = try make(2 * block)
    var writer: BlobWriter? = blob.writer(at: 0, upTo: Int64(block))
    #expect(blob.missing(from: 0, limit: .max) == Int64(block)..<Int64(2 * block))
    #expect(writer?.position == 0)
    writer = nil
    #expect(blob.missing(from: 0, limit: .max) == 0..<Int64(2 * block))
    await cache.close()
  }

  @Test func `missing runs are aligned, bounded, and leave out what a writer will bring`() async throws {
    let size = 10 * block + 17
    let blob = try make(size)
    try blob.write(pattern(2 * block), at: Int64(3 * block))
    #expect(blob.missing(from: 5, limit: .max) == 0..<Int64(3 * block))
    #expect(blob.missing(from: 5, limit: Int64(2 * block + 1)) == 0..<Int64(2 * block))
    #expect(blob.missing(from: 5, limit: 1) == 0..<Int64(block))
    #expect(blob.missing(from: Int64(3 * block), limit: .max) == Int64(5 * block)..<Int64(size))
    let writer = blob.writer(at: Int64(5 * block), upTo: Int64(8 * block))
    #expect(blob.missing(from: Int64(3 * block), limit: .max) == Int64(8 * block)..<Int64(size))
    #expect(blob.missing(from: Int64(10 * block), limit: .max) == Int64(10 * block)..<Int64(size))
    #expect(blob.missing(from: Int64(size), limit: .max) == Int64(10 * block)..<Int64(size))
    #expect(blob.missing(from: Int64(size + block), limit: .max) == nil)
    let tail = blob.writer(at: Int64(8 * block), upTo: Int64(size))
    #expect(blob.missing(from: Int64(3 * block), limit: .max) == nil)
    writer.finish()
    tail.finish()
    await cache.close()
  }

  @Test func `a run from inside a block counts from the next one`() async throws {
    let bytes = pattern(3 * block)
    let blob = try make(3 * block)
    let writer = blob.writer(at: 100, upTo: Int64(3 * block))
    try writer.write(Array(bytes[100...]).span.bytes)
    #expect(blob.isReadable(100..<Int64(3 * block)))
    #expect(writer.finish() == Int64(2 * block))
    #expect(blob.missing(from: 0, limit: .max) == 0..<Int64(block))
    await cache.close()
  }

  @Test func `bytes past the end of a run are not taken`() async throws {
    let blob = try make(2 * block)
    let writer = blob.writer(at: 0, upTo: Int64(block))
    try writer.write(pattern(2 * block).span.bytes)
    #expect(writer.position == Int64(block) && !blob.isReadable(0..<Int64(block + 1)))
    writer.finish()
    await cache.close()
  }

  @Test func `runs in parallel and out of order make one whole`() async throws {
    let size = 40 * block + 1234
    let bytes = pattern(size)
    let blob = try make(size)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for part in (0..<11).reversed() {
        group.addTask {
          let range = part * 4 * block..<min(size, (part + 1) * 4 * block)
          let writer = blob.writer(at: Int64(range.lowerBound), upTo: Int64(range.upperBound))
          var offset = range.lowerBound
          while offset < range.upperBound {
            let end = min(range.upperBound, offset + 16_384 + part * 13)
            try writer.write(Array(bytes[offset..<end]).span.bytes)
            offset = end
          }
          writer.finish()
        }
      }
      try await group.waitForAll()
    }
    #expect(blob.isComplete && blob.content == bytes)
    await cache.close()
    #expect(try test.inspector.verify(test.source()).damaged == [])
  }

  @Test func `a block that is there is not written again`() async throws {
    let blob = try make(block)
    try blob.write(pattern(block), at: 0)
    #expect(try blob.write(pattern(block, seed: 2), at: 0) == 0)
    #expect(blob.content == pattern(block))
    #expect(cache.usage().bytes == Int64(block))
    await cache.close()
  }

  @Test func `metadata outlive the process`() async throws {
    try cache.store(ObjectKey("f"), pattern(10))
    await cache.close()
    let again = try test.open()
    let blob = await again.blob(ObjectKey("f"), 10)
    #expect(blob?.metadata.contentType == "text/plain" && blob?.revision.version == "3HL4")
    #expect(blob?.metadata.storageClass == "GLACIER_IR" && blob?.revision == revision(10, version: "3HL4"))
    await again.close()
  }

  @Test func `many blobs share few descriptors`() async throws {
    let before = try FileSystem.list("/proc/self/fd").count
    var blobs: [Blob] = []
    for index in 0..<600 { blobs.append(try cache.store(ObjectKey("f\(index)"), pattern(20, seed: UInt64(index)))) }
    #expect(try FileSystem.list("/proc/self/fd").count - before < 400)
    for (index, blob) in blobs.enumerated() { #expect(blob.content == pattern(20, seed: UInt64(index))) }
    await cache.close()
  }

  @Test func `an open file is read on after the cache directory is deleted, others fail`() async throws {
    let open = try cache.store(ObjectKey("a"), pattern(100))
    let closed = try cache.store(ObjectKey("b"), pattern(100))
    let file = try open.file()
    // Rows that are still to be written open their files.
    await cache.catalogue.flush()
    cache.forgetDescriptors()
    try FileSystem.removeTree(test.root)
    #expect(try file.read(at: 0, count: 100) == pattern(100))
    #expect(throws: Errno.noEntry) { try closed.file() }
    #expect(throws: CacheError.self) { try cache.makeBlob(ObjectKey("c"), ObjectMetadata(revision: revision(1))) }
    cache.catalogue.record(.removed(ObjectKey("a")))
    await cache.catalogue.flush()
    await cache.close()
  }

  /// Memory is a file system that takes files of any length.
  @Test(.enabled(if: (try? FileSystem.attributes("/dev/shm")) != nil))
  func `of an object that is larger than any there is no copy is made`() async throws {
    let test = try TestCache(in: "/dev/shm")
    let cache = try test.open()
    for size in [Int64(1) << 46 + 1, 1 << 59, .max] {
      let told = ObjectRevision(etag: EntityTag("\"t\""), size: size, modified: 0)
      #expect(throws: CacheError.self) { try cache.makeBlob(ObjectKey("huge"), ObjectMetadata(revision: told)) }
    }
    #expect(try test.blobFiles(cache).isEmpty)
    await cache.close()
  }
}
