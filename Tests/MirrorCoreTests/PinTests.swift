// Pinned content is here and current without anybody asking for it, at the price of the cheaper way.
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct PinTests {
  private func gets(_ log: [String]) -> Int { log.count { $0.hasPrefix("get") } }
  private func lists(_ log: [String]) -> Int { log.count { $0.hasPrefix("list") } }

  @Test func `what is pinned is fetched, and kept current by one listing and what changed`() async throws {
    let fixture = try MirrorFixture()
    for number in 100..<140 { fixture.store.put("d/e/f\(number)", "old") }
    fixture.store.put("other", "x")
    let keeper = PinKeeper(fixture.mirror)
    #expect(await keeper.round() == PinKeeper.longest)
    #expect(fixture.store.takeLog() == [])
    await fixture.mirror.pin(ObjectKey("d/"), true)
    #expect(await keeper.round() == .seconds(60))
    let first = fixture.store.takeLog()
    #expect(gets(first) == 40 && lists(first) <= 2, "\(first)")
    for _ in 0..<3 {
      fixture.store.put("d/e/f120", "new").put("d/e/g", "new").delete("d/e/f110")
      fixture.clock.advance(.seconds(60))
      #expect(await keeper.round() == .seconds(60))
      let log = fixture.store.takeLog()
      #expect(gets(log) == 2 && lists(log) <= 2, "\(log)")
      #expect(await fixture.read("d/e/f120") == "new")
      #expect(await fixture.read("d/e/g") == "new")
      #expect(fixture.store.takeLog() == [])
    }
    #expect(await fixture.errno("d/e/f110") == .noEntry)
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `a few files are checked singly, and listed once that has cost as much`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("models/a", "a").put("models/b", "b").put("models.old", "x")
    let keeper = PinKeeper(fixture.mirror)
    await fixture.mirror.pin(ObjectKey("models/"), true)
    _ = await keeper.round()
    fixture.store.put("models/c", "c")
    _ = fixture.store.takeLog()
    var log: [String] = []
    for _ in 0..<7 {
      fixture.clock.advance(.seconds(60))
      _ = await keeper.round()
      log += fixture.store.takeLog()
    }
    #expect(gets(log) == 12 + 1 && lists(log) == 1, "\(log)")
    #expect(await fixture.read("models/c") == "c")
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `a pin is a prefix of keys, and what is pinned no more is left alone`() async throws {
    let fixture = try MirrorFixture()
    for key in ["v/v1.a", "v/v1/b", "v/v2", "w"] { fixture.store.put(key, key) }
    let keeper = PinKeeper(fixture.mirror)
    await fixture.mirror.pin(ObjectKey("v/v1"), true)
    await fixture.mirror.pin(ObjectKey("v/v1/"), true)
    _ = await keeper.round()
    #expect(
      fixture.store.takeLog().filter { $0.hasPrefix("get") }.sorted() == ["get v/v1.a if-match", "get v/v1/b if-match"])
    await fixture.mirror.pin(ObjectKey("v/v1"), false)
    #expect(await fixture.mirror.pins() == [])
    fixture.clock.advance(.seconds(61))
    #expect(await keeper.round() == PinKeeper.longest)
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `pins outlive the mount, and a fresh copy costs nothing`() async throws {
    let fixture = try MirrorFixture()
    for number in 0..<5 { fixture.store.put("d/f\(number)", "x") }
    await fixture.mirror.pin(ObjectKey("d/"), true)
    _ = await PinKeeper(fixture.mirror).round()
    await fixture.close()
    let second = try MirrorFixture(in: fixture.directory, memory: fixture.store, clock: fixture.clock)
    _ = fixture.store.takeLog()
    let keeper = PinKeeper(second.mirror)
    #expect(await keeper.round() == .seconds(60))
    #expect(fixture.store.takeLog() == [])
    fixture.clock.advance(.seconds(60))
    _ = await keeper.round()
    #expect(gets(fixture.store.takeLog()) == 5)
    await second.close()
  }

  @Test func `while the origin is away nothing is asked, and what is asked in vain is not asked again at once`()
    async throws
  {
    let fixture = try MirrorFixture()
    fixture.store.put("d/f", "x")
    await fixture.mirror.pin(ObjectKey("d/"), true)
    let keeper = PinKeeper(fixture.mirror)
    fixture.store.fail(.accessDenied)
    #expect(await keeper.round() == PinKeeper.always)
    fixture.store.fail(nil)
    _ = await keeper.round()
    #expect(await fixture.read("d/f") == "x")
    fixture.clock.advance(.seconds(60))
    fixture.store.fail(.unreachable)
    _ = await fixture.node("d/f")
    #expect(fixture.mirror.status().offlineSince != nil)
    _ = fixture.store.takeLog()
    #expect(await keeper.round() == PinKeeper.always)
    #expect(gets(fixture.store.takeLog()) == 0)
    await fixture.close()
  }
}
