import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCache

/// Whose a cache directory is. Serialized: one test sets the umask of the process.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct OwnershipTests {
  let test: TestCache
  init() throws { test = try TestCache() }

  @Test(arguments: [0, 0o022, 0o077, 0o177])
  func `only the owner can read, whatever the umask`(mask: UInt32) async throws {
    let before = umask(mask)
    let cache = try test.open()
    try cache.store(ObjectKey("f"), pattern(10))
    await cache.catalogue.flush()
    umask(before)
    func check(_ path: String) throws {
      let attributes = try FileSystem.attributes(path)
      #expect(attributes.permissions == (attributes.kind == .directory ? 0o700 : 0o600), "\(path)")
      guard attributes.kind == .directory else { return }
      for name in try FileSystem.list(path) { try check(path + "/" + name) }
    }
    try check(test.root)
    #expect(exists(cache.directory + "/catalogue.sqlite-wal"))
    await cache.close()
  }

  @Test func `backups can tell that it is a cache`() async throws {
    await (try test.open()).close()
    let tag = try FileSystem.read(test.root + "/CACHEDIR.TAG")
    #expect(tag.starts(with: Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)))
  }

  @Test func `a second owner is refused and told who the first is`() async throws {
    let cache = try test.open()
    let error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.code == .locked(getpid()))
    #expect(error?.description.contains("in use by process \(getpid())") == true)
    #expect(try test.source().owner == getpid())
    await cache.close()
    #expect(try test.source().owner == nil)
    await (try test.open()).close()
  }

  @Test func `a lock file that a dead process left is no obstacle`() async throws {
    await (try test.open()).close()
    try FileSystem.write(Array("999999\n".utf8), to: test.source().directory + "/lock", mode: 0o600)
    await (try test.open()).close()
  }

  @Test func `sources have directories of their own`() async throws {
    var configuration = test.configuration
    var names: Set<String> = []
    for endpoint in ["http://127.0.0.1:9000", "http://127.0.0.1:9001"] {
      for prefix in ["photos/", "photos", ""] {
        (configuration.endpoint, configuration.prefix) = (endpoint, ObjectKey(prefix))
        let cache = try Cache.open(configuration, clock: test.clock, log: .none)
        #expect(names.insert(cache.directory).inserted)
        await cache.close()
      }
    }
    let sources = try test.inspector.sources()
    #expect(sources.count == 6 && sources.allSatisfy { $0.identity.bucket == "bucket" && $0.owner == nil })
    #expect(
      Set(sources.map(\.identity.prefix)) == ["photos/", "photos", ""].reduce(into: []) { $0.insert(ObjectKey($1)) })
  }

  @Test func `names of directories are short and safe`() {
    let long = SourceIdentity(
      endpoint: "https://x", bucket: "..", prefix: ObjectKey(Array(repeating: 0xFF, count: 900) + Array("/../".utf8)))
    #expect(
      long.directoryName.utf8.count < 120 && !long.directoryName.contains("/") && !long.directoryName.hasPrefix("."))
    #expect(SourceIdentity(encoded: long.encoded) == long)
  }

  @Test func `a directory of another source is refused`() async throws {
    await (try test.open()).close()
    let file = try test.source().directory + "/source"
    try FileSystem.write(
      SourceIdentity(endpoint: "e", bucket: "other", prefix: ObjectKey("")).encoded, to: file, mode: 0o600)
    #expect(throws: CacheError.self) { try test.open() }
  }

  @Test func `links and files are refused in place of directories`() async throws {
    let elsewhere = test.temporary.file("elsewhere")
    try FileSystem.makeDirectory(elsewhere)
    #expect(symlink(elsewhere, test.root) == 0)
    var error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.code == .unusable && error?.message == "is a symbolic link")
    #expect(try FileSystem.list(elsewhere) == [])
    try FileSystem.removeFile(test.root)

    try FileSystem.write([1], to: test.root, mode: 0o600)
    error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.message == "is not a directory")
    try FileSystem.removeFile(test.root)

    try FileSystem.makeDirectory(test.root)
    let name = SourceIdentity(test.configuration).directoryName
    #expect(symlink(elsewhere, test.root + "/" + name) == 0)
    error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.message == "is a symbolic link")
    #expect(try FileSystem.list(elsewhere) == [])
  }

  @Test func `a root behind a linked parent is fine`() async throws {
    try FileSystem.makeDirectory(test.temporary.file("real"))
    #expect(symlink(test.temporary.file("real"), test.temporary.file("home")) == 0)
    var configuration = test.configuration
    configuration.root = test.temporary.file("home/cache")
    let cache = try Cache.open(configuration, clock: test.clock, log: .none)
    try cache.store(ObjectKey("f"), pattern(10))
    await cache.close()
    let inspector = CacheInspector(root: configuration.root)
    #expect(try inspector.objects(of: #require(inspector.sources().first)).count == 1)
  }

  @Test(.enabled(if: geteuid() == 0))
  func `a directory of another user is refused`() async throws {
    await (try test.open()).close()
    let directory = try test.source().directory
    #expect(chown(directory, 12345, 12345) == 0)
    let error = #expect(throws: CacheError.self) { try test.open() }
    #expect(error?.code == .unusable && error?.message.contains("belongs to user 12345") == true)
    #expect(chown(directory, 0, 0) == 0)
  }

  @Test func `a root that can't be made is refused with its path`() throws {
    var configuration = test.configuration
    configuration.root = "/proc/none/cache"
    let error = #expect(throws: CacheError.self) {
      try Cache.open(configuration, clock: test.clock, log: .none)
    }
    #expect(error?.code == .unusable && error?.path == "/proc/none/cache")
  }
}
