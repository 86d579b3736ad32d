import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@testable import MirrorCache

/// What a new process finds after a clean end, a killed process, and damage.
@Suite(.timeLimit(.minutes(1)))
struct RecoveryTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  private let small = ObjectKey("small")
  private let large = ObjectKey("large")
  private let largeSize = 20 * block + 9

  /// A cache with a small and a large complete blob, and its blob files, ended in one way or the other.
  private func prepare(clean: Bool) async throws -> (small: String, large: String) {
    let cache = try test.open()
    let first = try cache.store(small, pattern(1000))
    let second = try cache.store(large, pattern(largeSize))
    await cache.catalogue.flush()
    if clean { await cache.close() } else { await cache.abandon() }
    return (first.path, second.path)
  }

  @Test(arguments: [true, false])
  func `copies outlive the process`(clean: Bool) async throws {
    _ = try await prepare(clean: clean)
    let cache = try test.open()
    #expect(cache.usage().bytes == Int64(1000 + largeSize) && cache.usage().objects == 2)
    #expect(await cache.blob(small, 1000)?.content == pattern(1000))
    #expect(await cache.blob(large, largeSize)?.content == pattern(largeSize))
    #expect(await cache.blob(small, 1001) == nil)
    #expect(await cache.blob(small, 1000, "v2") == nil)
    await cache.close()
  }

  @Test func `blocks of a part outlive the process, clean or not`() async throws {
    for clean in [true, false] {
      let test = try TestCache()
      var cache = try test.open()
      let bytes = pattern(largeSize)
      let blob = try cache.makeBlob(large, ObjectMetadata(revision: revision(largeSize)))
      try blob.write(Array(bytes[(3 * block)..<(5 * block + 1000)]), at: Int64(3 * block))
      try blob.write(Array(bytes[(20 * block)...]), at: Int64(20 * block))
      await cache.catalogue.flush()
      if clean { await cache.close() } else { await cache.abandon() }
      cache = try test.open()
      let again = try #require(await cache.blob(large, largeSize))
      #expect(!again.isComplete && again.cachedBytes == Int64(2 * block + 9))
      #expect(again.isReadable(Int64(3 * block)..<Int64(5 * block)))
      #expect(again.isReadable(Int64(20 * block)..<Int64(largeSize)))
      #expect(again.missing(from: 0, limit: .max) == 0..<Int64(3 * block))
      #expect(again.missing(from: Int64(3 * block), limit: .max) == Int64(5 * block)..<Int64(20 * block))
      try again.write(Array(bytes[..<(3 * block)]), at: 0)
      try again.write(Array(bytes[(5 * block)..<(20 * block)]), at: Int64(5 * block))
      #expect(again.isComplete && again.content == bytes)
      await cache.close()
      #expect(try test.inspector.verify(test.source()).damaged == [])
    }
  }

  @Test func `an end is clean only once the disk has written the copies that rows tell of`() async throws {
    let cache = try test.open { _ in false }
    let path = try cache.store(small, pattern(1000)).path
    await cache.close()
    // As after a power cut: the row is there, the bytes are not, and the file's time has not changed.
    let time = try FileSystem.attributes(path).modifiedNanoseconds
    try flipByte(of: path, at: 5)
    let stamp = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    #expect(utimensat(AT_FDCWD, path, [stamp, stamp], 0) == 0)
    let again = try test.open()
    #expect(await again.blob(small, 1000)?.content == nil)
    await again.close()
  }

  @Test func `what is on disk already is not synchronised again`() async throws {
    let calls = Mutex(0)
    func open() throws -> Cache {
      try test.open { _ in
        calls.withLock { $0 += 1 }
        return true
      }
    }
    var cache = try open()
    try cache.store(small, pattern(1000))
    await cache.close()
    #expect(calls.withLock { $0 } == 1)
    cache = try open()
    #expect(await cache.blob(small, 1000)?.content == pattern(1000))
    await cache.close()
    #expect(calls.withLock { $0 } == 1)
  }

  @Test func `rows whose files an unclean end took along are no damage, and are swept`() async throws {
    let files = try await prepare(clean: false)
    // Killed between the deletion of a file and that of its row.
    try FileSystem.removeFile(files.small)
    #expect(try test.inspector.verify(test.source()).damaged == [])
    let cache = try test.open()
    #expect(try test.inspector.verify(test.source()).damaged == [])
    while cache.usage().objects == 2 { await cache.settleSweep() }
    #expect(cache.usage().bytes == Int64(largeSize))
    await cache.catalogue.flush()
    #expect(try test.inspector.objects(of: test.source()).map(\.key) == [large])
    await cache.close()
    // Once swept, a file that is missing was taken by somebody else.
    try FileSystem.removeFile(files.large)
    let found = try test.inspector.verify(test.source()).damaged.map(\.kind)
    #expect(found == [.missing])
  }

  @Test func `a repair takes away the rows that an unclean end left, and calls them no damage`() async throws {
    let files = try await prepare(clean: false)
    try FileSystem.removeFile(files.small)
    let found = try test.inspector.verify(test.source(), repair: true)
    #expect(found.damaged == [] && found.dropped == 0)
    #expect(try test.inspector.objects(of: test.source()).map(\.key) == [large])
  }

  @Test func `what was not flushed is lost without harm`() async throws {
    let cache = try test.open()
    let blob = try cache.store(small, pattern(1000))
    await cache.abandon()
    #expect(exists(blob.path))
    let again = try test.open()
    #expect(await again.blob(small, 1000) == nil)
    #expect(again.usage().bytes == 0 && again.usage().objects == 0)
    // The file without a row goes in the background.
    await again.settleSweep()
    #expect(!exists(blob.path))
    await again.close()
  }

  @Test(arguments: [true, false])
  func `what was yet to be proven does not outlive the process, however it ends`(clean: Bool) async throws {
    var cache = try test.open()
    let bytes = pattern(largeSize)
    let blob = try cache.makeBlob(large, ObjectMetadata(revision: revision(largeSize)))
    blob.expectProof(of: blob.whole)
    try blob.write(bytes, at: 0)
    await cache.catalogue.flush()
    if clean { await cache.close() } else { await cache.abandon() }
    cache = try test.open()
    #expect(await cache.blob(large, largeSize) == nil)
    // Once it is proven it stays.
    let again = try cache.makeBlob(large, ObjectMetadata(revision: revision(largeSize)))
    again.expectProof(of: again.whole)
    try again.write(bytes, at: 0)
    again.proven(again.whole)
    await cache.catalogue.flush()
    if clean { await cache.close() } else { await cache.abandon() }
    cache = try test.open()
    #expect(await cache.blob(large, largeSize)?.content == bytes)
    await cache.close()
  }

  // A095
  @Test(arguments: [true, false])
  func `a flipped byte is never served`(clean: Bool) async throws {
    let files = try await prepare(clean: clean)
    try flipByte(of: files.small, at: 999)
    try flipByte(of: files.large, at: Int64(7 * block))
    let cache = try test.open()
    #expect(await cache.blob(small, 1000)?.content == nil)
    let blob = try #require(await cache.blob(large, largeSize))
    #expect(blob.isReadable(0..<Int64(7 * block)))
    #expect(!blob.isReadable(Int64(7 * block)..<Int64(7 * block + 1)))
    #expect(blob.missing(from: 0, limit: .max) == Int64(7 * block)..<Int64(8 * block))
    #expect(blob.isReadable(Int64(8 * block)..<Int64(largeSize)) && !blob.isComplete)
    #expect(cache.usage().bytes == Int64(largeSize - block))
    // What is missing can be filled in.
    let bytes = pattern(largeSize)
    try blob.write(Array(bytes[(7 * block)..<(8 * block)]), at: Int64(7 * block))
    #expect(blob.isComplete && blob.content == bytes)
    await cache.close()
    let again = try test.open()
    #expect(await again.blob(large, largeSize)?.content == bytes)
    await again.close()
  }

  @Test func `damage that keeps the file's time is found after an unclean end`() async throws {
    let files = try await prepare(clean: false)
    for path in [files.small, files.large] {
      let time = try FileSystem.attributes(path).modifiedNanoseconds
      try flipByte(of: path, at: 5)
      let stamp = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
      #expect(utimensat(AT_FDCWD, path, [stamp, stamp], 0) == 0)
    }
    let cache = try test.open()
    #expect(await cache.blob(small, 1000)?.content == nil)
    #expect(await cache.blob(large, largeSize)?.missing(from: 0, limit: .max) == 0..<Int64(block))
    await cache.close()
  }

  @Test func `what was unclean stays to be checked through later clean ends`() async throws {
    let files = try await prepare(clean: false)
    // A life that does not touch the large one.
    await (try test.open()).close()
    let time = try FileSystem.attributes(files.large).modifiedNanoseconds
    try flipByte(of: files.large, at: 5)
    let stamp = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    #expect(utimensat(AT_FDCWD, files.large, [stamp, stamp], 0) == 0)
    let cache = try test.open()
    #expect(await cache.blob(large, largeSize)?.isReadable(0..<1) == false)
    await cache.close()
  }

  // A094
  @Test(arguments: [true, false])
  func `a hole of the same length is never served`(clean: Bool) async throws {
    let files = try await prepare(clean: clean)
    for (path, size) in [(files.small, 1000), (files.large, largeSize)] {
      #expect(truncate(path, 0) == 0 && truncate(path, size) == 0)
    }
    let cache = try test.open()
    #expect(await cache.blob(small, 1000)?.content == nil)
    #expect(await cache.blob(large, largeSize)?.missing(from: 0, limit: .max) == 0..<Int64(largeSize))
    await cache.close()
  }

  @Test(arguments: [0, 500, 999, 1001])
  func `a copy whose file has another size is dropped`(size: Int) async throws {
    let files = try await prepare(clean: true)
    #expect(truncate(files.small, size) == 0)
    let cache = try test.open()
    #expect(await cache.blob(small, 1000) == nil)
    #expect(!exists(files.small))
    #expect(cache.usage().objects == 1 && cache.usage().bytes == Int64(largeSize))
    try cache.store(small, pattern(1000))
    #expect(await cache.blob(small, 1000)?.content == pattern(1000))
    await cache.close()
  }

  @Test func `a row without a file, or with a directory for one, is dropped`() async throws {
    let files = try await prepare(clean: true)
    try FileSystem.removeFile(files.small)
    try FileSystem.removeFile(files.large)
    try FileSystem.makeDirectory(files.large)
    let cache = try test.open()
    #expect(await cache.blob(small, 1000) == nil)
    #expect(await cache.blob(large, largeSize) == nil)
    #expect(cache.usage().objects == 0 && cache.usage().bytes == 0)
    #expect(!exists(files.large))
    await cache.close()
  }

  @Test func `files without a row are swept, foreign ones are not`() async throws {
    let files = try await prepare(clean: true)
    let directory = try #require(FileSystem.parent(of: files.small))
    let id = try #require(Int64(files.small.split(separator: "/").last ?? ""))
    let orphan = "\(directory)/\(id - 256)"
    for path in [orphan, "\(directory)/note.txt", "\(directory)/\(id + 1)"] {
      try FileSystem.write([1], to: path, mode: 0o600)
    }
    let cache = try test.open()
    await cache.settleSweep()
    #expect(!exists(orphan))
    #expect(exists("\(directory)/note.txt") && exists("\(directory)/\(id + 1)"))
    #expect(exists(files.small) && exists(files.large))
    await cache.close()
  }

  @Test func `a file in the way of a new one is no obstacle`() async throws {
    var cache = try test.open()
    let blob = try cache.store(small, pattern(1000))
    await cache.abandon()
    // The same wall clock gives the same first id again where no row was written.
    test.clock.stepWall(.seconds(-1))
    try FileSystem.removeFile(cache.directory + "/catalogue.sqlite")
    cache = try test.open()
    let again = try cache.store(small, pattern(1000, seed: 2))
    #expect(again.path == blob.path && again.content == pattern(1000, seed: 2))
    await cache.close()
  }

  enum IndexDamage: CaseIterable { case cut, zeroed, garbage, empty, missing, directory, hollow, numbers }

  @Test(arguments: IndexDamage.allCases)
  func `a damaged catalogue is set aside and a new one begun`(damage: IndexDamage) async throws {
    let files = try await prepare(clean: true)
    var cache = try test.open()
    let path = cache.directory + "/catalogue.sqlite"
    for index in 0..<2000 {
      cache.catalogue.record(
        .object(ObjectKey("k\(index)"), revision(1), storageClass: nil, validated: WallTime(seconds: 1)))
    }
    await cache.close()
    let size = Int(try FileSystem.attributes(path).size)
    switch damage {
    case .cut: #expect(truncate(path, size / 2) == 0)
    case .zeroed: try FileSystem.write([UInt8](repeating: 0, count: size), to: path, mode: 0o600)
    case .garbage: try FileSystem.write(pattern(size), to: path, mode: 0o600)
    case .empty: #expect(truncate(path, 0) == 0)
    case .missing: try FileSystem.removeFile(path)
    case .directory:
      try FileSystem.removeFile(path)
      try FileSystem.makeDirectory(path)
    case .numbers:
      let connection = try Connection(path, .readWrite)
      try connection.execute("UPDATE meta SET value = 9223372036854775807 WHERE name = 'next'")
    case .hollow:
      // The head is whole, everything behind it is not.
      let file = try File.open(path, .readWrite)
      try file.write(pattern(size - 8192), at: 8192)
    }
    cache = try test.open()
    for key in [small, large] {
      if let blob = await cache.blob(key, key == small ? 1000 : largeSize) {
        #expect(blob.content == nil || blob.content == pattern(Int(blob.revision.size)))
      }
    }
    _ = await cache.catalogue.directory(ObjectKey(""))
    try cache.store(ObjectKey("new"), pattern(50))
    await cache.catalogue.flush()
    #expect(await cache.blob(ObjectKey("new"), 50)?.content == pattern(50))
    await cache.close()
    let again = try test.open()
    await again.settleSweep()
    #expect(await again.blob(ObjectKey("new"), 50)?.content == pattern(50))
    if damage != .empty && damage != .missing { #expect(exists(path + ".damaged")) }
    if damage != .hollow { #expect(!exists(files.small) && !exists(files.large)) }
    await again.close()
  }

  @Test func `a row that contradicts itself is passed over`() async throws {
    var cache = try test.open()
    let directory = ObjectKey("d/")
    cache.catalogue.record(
      .object(ObjectKey("d/a"), revision(1), storageClass: nil, validated: WallTime(seconds: 1)))
    cache.catalogue.record(.directory(ObjectKey("d/e/"), listed: nil))
    await cache.close()
    let connection = try Connection(cache.directory + "/catalogue.sqlite", .readWrite)
    for key in ["d", "x/y/", "d/", "d//", "d/e/f/", "d/e"] {
      try connection.execute("INSERT INTO directories VALUES(CAST('\(key)' AS BLOB), CAST('d/' AS BLOB), 1)")
    }
    for name in ["/", "b/c"] {
      try connection.execute(
        "INSERT INTO objects(parent, name, size, validated) VALUES(CAST('d/' AS BLOB), CAST('\(name)' AS BLOB), -1, 1)")
    }
    cache = try test.open()
    let known = await cache.catalogue.directory(directory)
    #expect(known?.objects.map(\.key) == [ObjectKey("d/a")] && known?.directories == [ObjectKey("d/e/")])
    cache.catalogue.record(.contents(directory, names: [], listed: WallTime(seconds: 2)))
    await cache.catalogue.flush()
    let left = await cache.catalogue.directory(directory)
    #expect(left?.objects == [] && left?.directories == [])
    await cache.close()
  }

  @Test func `a catalogue of a newer release is refused and left as it is`() async throws {
    _ = try await prepare(clean: true)
    let source = try test.source()
    let path = source.directory + "/catalogue.sqlite"
    do {
      let connection = try Connection(path, .readWrite)
      try connection.execute("UPDATE meta SET value = \(Schema.version + 1) WHERE name = 'version'")
    }
    let error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.code == .newerVersion)
    #expect(!exists(path + ".damaged"))
    #expect(throws: CacheError.self) { try test.inspector.objects(of: source) }
    // The refusal left no lock behind.
    do {
      let connection = try Connection(path, .readWrite)
      try connection.execute("UPDATE meta SET value = \(Schema.version) WHERE name = 'version'")
    }
    let cache = try test.open()
    #expect(await cache.blob(small, 1000)?.content == pattern(1000))
    await cache.close()
  }

  @Test func `a superseded copy left by an earlier life is swept`() async throws {
    let files = try await prepare(clean: true)
    let connection = try Connection(try test.source().directory + "/catalogue.sqlite", .readWrite)
    try connection.execute("UPDATE objects SET size = 7 WHERE name = x'\(hexadecimal(small.bytes))'")
    let cache = try test.open()
    await cache.settleSweep()
    #expect(!exists(files.small) && exists(files.large))
    #expect(cache.usage().objects == 1)
    await cache.close()
  }
}

extension Cache {
  /// Returns after the sweep that `open` began.
  func settleSweep() async { await catalogue.flush() }
}
