// What bytes cost decides what is asked along with an answer: HEAD or GET, and how much of an object.
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct BytePriceTests {
  private static func prices(_ texts: String...) -> Prices {
    var prices = Prices()
    for text in texts { try? prices.set(text) }
    return prices
  }
  private static let dear = prices("egress=0.09/GB")
  private let neighbours = ValidationPlanner.Neighbours(files: true, directories: false)
  private let tag = EntityTag("\"t\"")

  @Test(arguments: [
    // The first 128 KiB cost as much as a HEAD at 0.00305 USD per GB.
    (prices(), false), (prices("egress=0.003/GB"), false), (prices("egress=0.0031/GB"), true), (dear, true),
    (prices("none"), false), (prices("head=0", "egress=0.0001/GB"), true),
    (prices("egress=0.09/GB", "head=0.1/1000"), false),
  ])
  func `a first look is a HEAD where the first bytes cost more`(prices: Prices, looks: Bool) {
    let planner = ValidationPlanner(prices: prices)
    let expected = looks ? ValidationPlanner.Request.look : .fetch(ByteRange(0, 131_072))
    #expect(planner.discovery(Array("f".utf8), beside: neighbours, wasAbsent: false) == expected)
    #expect(planner.discovery(Array("f".utf8), beside: neighbours, wasAbsent: true) == .sample)
    #expect(planner.discovery(Array("f".utf8), beside: .init(), wasAbsent: false) == .sample)
  }

  @Test(arguments: [
    // Free bytes: all of a small object, the first block of a large one.
    (prices(), 1000, ByteRange(0, 262_144)), (prices(), 262_144, ByteRange(0, 262_144)),
    (prices(), 262_145, ByteRange(0, 131_072)),
    // 0.0000004 USD buy a GET, or 4,444 bytes.
    (dear, 4444, ByteRange(0, 4444)), (dear, 4445, ByteRange(0, 1)), (dear, 1 << 30, ByteRange(0, 1)),
    // Or 200,000, of which one block is of use.
    (prices("egress=0.002/GB"), 131_072, ByteRange(0, 131_072)),
    (prices("egress=0.002/GB"), 131_073, ByteRange(0, 131_072)),
    (prices("none"), 1000, ByteRange(0, 262_144)), (prices("get=0", "egress=0.09/GB"), 10, ByteRange(0, 1)),
  ])
  func `a validation brings as many bytes as cost no more than a GET`(prices: Prices, size: Int, range: ByteRange) {
    let planner = ValidationPlanner(prices: prices)
    let revision = ObjectRevision(etag: tag, size: Int64(size), modified: 1)
    #expect(planner.validation(of: revision, cached: true) == .validate(tag, range))
    // What is not here is fetched without a condition only where the answer would be all of it.
    let whole = range.end.map { $0 >= Int64(size) } ?? false
    #expect(planner.validation(of: revision, cached: false) == (whole ? .fetch(range) : .validate(tag, range)))
    let empty = ObjectRevision(etag: tag, size: 0, modified: 1)
    #expect(planner.validation(of: empty, cached: true) == .validate(tag, nil))
  }

  @Test func `without a tag to ask by, HEAD tells whether time and size are the same`() {
    let revision = ObjectRevision(etag: nil, size: 1 << 20, modified: 1)
    #expect(ValidationPlanner().validation(of: revision, cached: true) == .fetch(ByteRange(0, 131_072)))
    let planner = ValidationPlanner(prices: Self.dear)
    #expect(planner.validation(of: revision, cached: true) == .look)
    let small = ObjectRevision(etag: nil, size: 100, modified: 1)
    #expect(planner.validation(of: small, cached: true) == .fetch(ByteRange(0, 4444)))
  }

  private func fixture(_ rules: FreshnessRules = FreshnessRules()) async throws -> MirrorFixture {
    let clock = ManualClock()
    let fixture = try MirrorFixture(rules, ledger: Ledger(prices: Self.dear, clock: clock), clock: clock)
    fixture.store.put("d/a.txt", "neighbour")
    #expect(await fixture.read("d/a.txt") == "neighbour")
    // The listing that told of it no longer says which other names there are.
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    return fixture
  }

  @Test func `a look buys no byte, and a read buys them once`() async throws {
    let fixture = try await fixture()
    let body = String(repeating: "x", count: 20_000)
    fixture.store.put("d/f.txt", body)
    let unknown = try #require(await fixture.mirror.explain(Array("d/f.txt".utf8)))
    #expect(unknown.next?.kind == .head && unknown.nextCost == Prices().perHead)
    let node = try #require(await fixture.node("d/f.txt"))
    #expect(node.size == 20_000)
    #expect(fixture.store.takeLog() == ["head d/f.txt"])
    let known = try #require(await fixture.mirror.explain(Array("d/f.txt".utf8)))
    #expect(known.verdict == .fresh && known.nextRequest == "GET, when it is read")
    #expect(abs(known.nextCost - (Prices().perGet + 20_000 * 0.09e-9)) < 1e-12)
    #expect(await fixture.read(node) == .success(Array(body.utf8)))
    #expect(await fixture.read("d/f.txt") == body)
    #expect(fixture.store.takeLog() == ["get d/f.txt if-match"])
    // It changes: the answer tells so, and brings what costs no more than another request.
    fixture.store.put("d/f.txt", body + "!")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.node("d/f.txt")?.size == 20_001)
    #expect(fixture.store.takeLog() == ["get d/f.txt 0-1 if-none-match"])
    #expect(await fixture.read("d/f.txt") == body + "!")
    #expect(fixture.store.takeLog() == ["get d/f.txt if-match"])
    await fixture.close()
  }

  @Test func `what HEAD says counts as what GET says`() async throws {
    var rules = FreshnessRules()
    try rules.add("*=origin")
    let fixture = try await fixture(rules)
    fixture.store.put("d/f.txt", "old", CachingFields(cacheControl: "max-age=600"))
    fixture.store.change("d/f.txt") { $0.storageClass = "GLACIER_IR" }
    let node = try #require(await fixture.node("d/f.txt"))
    let explained = try #require(await fixture.mirror.explain(Array("d/f.txt".utf8)))
    #expect(explained.lifetime == .seconds(600) && explained.verdict == .fresh)
    #expect(explained.nextCost > 0.00001, "the class has its price")
    #expect(
      fixture.mirror.extendedAttribute("user.s3.storage-class", of: node.node) == .success(Array("GLACIER_IR".utf8)))
    #expect(fixture.store.takeLog() == ["head d/f.txt"])
    await fixture.close()
  }

  @Test func `a HEAD that finds no object leads to the directory, or to its absence`() async throws {
    let fixture = try await fixture()
    fixture.store.put("d/e.d/f", "below")
    #expect(await fixture.read("d/e.d/f") == "below")
    #expect(fixture.store.takeLog() == ["head d/e.d", "list d/e.d/ flat", "get d/e.d/f if-match"])
    #expect(await fixture.errno("d/none.txt") == .noEntry)
    #expect(await fixture.errno("d/none.txt") == .noEntry)
    #expect(fixture.store.takeLog() == ["head d/none.txt", "list d/none.txt/ flat"])
    fixture.store.fail(.accessDenied)
    #expect(await fixture.errno("d/other.txt") == .accessDenied)
    await fixture.close()
  }

  @Test func `an object without a tag is fetched once while time and size stay`() async throws {
    let fixture = try await fixture()
    fixture.store.put("d/f.txt", String(repeating: "y", count: 10_000))
    fixture.store.change("d/f.txt") { $0.isTagged = false }
    #expect(await fixture.read("d/f.txt")?.count == 10_000)
    #expect(fixture.store.takeLog() == ["head d/f.txt", "get d/f.txt"])
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.read("d/f.txt")?.count == 10_000)
    #expect(fixture.store.takeLog() == ["head d/f.txt"])
    fixture.store.change("d/f.txt") { $0.modified += 5 }
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.read("d/f.txt")?.count == 10_000)
    #expect(fixture.store.takeLog() == ["head d/f.txt", "get d/f.txt"])
    await fixture.close()
  }
}
