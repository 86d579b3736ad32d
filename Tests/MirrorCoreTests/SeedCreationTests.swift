import MirrorCache
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1)))
struct SeedCreationTests {
  let store = MemoryStore()
  let temporary: TemporaryDirectory
  init() throws { temporary = try TemporaryDirectory("seed") }

  private func create(_ prefix: String = "p/") async throws -> SeedSummary {
    try await SeedCreation(
      store, source: "s3://b/\(prefix)", prefix: ObjectKey(prefix), directory: temporary.file("seed")
    ).run()
  }

  private func objects() async throws -> Int {
    let found = try await run(["sh", "-c", "find \"$0\" -type f | wc -l", temporary.file("seed/objects")])
    return Int(found.output.filter(\.isNumber)) ?? -1
  }

  @Test func `a seed has every object below its prefix, each content once`() async throws {
    for number in 0..<20 { store.put("p/d/\(number)", "content \(number % 10)") }
    store.put("p/empty", "").put("q/other", "x").put("p/../evil", "e")
    let summary = try await create()
    #expect(summary.objects == 22 && summary.fetched == 22 && summary.failures.isEmpty)
    #expect(try await objects() == 12)
    let seed = try Seed(temporary.file("seed"))
    #expect(seed.manifest.entries.map(\.key) == seed.manifest.entries.map(\.key).sorted())
    #expect(seed.manifest.prefix == ObjectKey("p/") && seed.manifest.source == "s3://b/p/")
    let entry = try #require(seed.manifest.entries.first { $0.key == ObjectKey("p/d/7") })
    #expect(try FileSystem.read(Seed.path(of: entry.sha256, in: seed.directory)) == Array("content 7".utf8))
  }

  @Test func `making it again fetches only what changed, and removes what went`() async throws {
    for number in 0..<5 { store.put("p/\(number)", "content \(number)") }
    _ = try await create()
    _ = store.takeLog()
    store.put("p/1", "changed")
    store.delete("p/2")
    let summary = try await create()
    #expect(summary.objects == 4 && summary.fetched == 1)
    #expect(store.takeLog().count { $0.hasPrefix("get") } == 1)
    #expect(try await objects() == 4)
  }

  @Test func `a seed that could not be finished is none, and what it has counts`() async throws {
    for number in 0..<5 { store.put("p/\(number)", "content \(number)") }
    let failing = FailingStore(store, failing: ObjectKey("p/3"))
    let creation = SeedCreation(
      failing, source: "s3://b/p/", prefix: ObjectKey("p/"), directory: temporary.file("seed"))
    let summary = try await creation.run()
    #expect(summary.failures.map(\.key) == [ObjectKey("p/3")])
    #expect(throws: CacheError.self) { try Seed(temporary.file("seed")) }
    _ = store.takeLog()
    #expect(try await create().fetched == 1)
    #expect(try Seed(temporary.file("seed")).manifest.entries.count == 5)
    #expect(try FileSystem.list(temporary.file("seed")).sorted() == ["manifest", "objects"])
  }

  @Test func `a bucket that can't be asked, and a place that can't be written, are told`() async throws {
    store.fail(.accessDenied)
    await #expect(throws: SeedFailure.self) { try await create() }
    let creation = SeedCreation(store, source: "", prefix: ObjectKey(""), directory: "/proc/none")
    await #expect(throws: SeedFailure.self) { try await creation.run() }
  }
}

/// Fails one key for good.
private struct FailingStore: ObjectStore {
  let store: MemoryStore
  let key: ObjectKey
  init(_ store: MemoryStore, failing key: ObjectKey) {
    self.store = store
    self.key = key
  }
  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    if request.key == key { throw StoreError(.unreachable, operation: "GetObject", subject: "", message: "gone") }
    return try await store.get(request, into: sink)
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { try await store.head(request) }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage { try await store.list(request) }
  func probe(deadline: Instant?) async throws(StoreError) { try await store.probe(deadline: deadline) }
}
