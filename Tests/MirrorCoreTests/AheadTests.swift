// Fetching ahead under a budget: at its pace, and never out of what is kept for readers.
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct AheadTests {
  private func filled(_ limit: String, _ count: Int) throws -> Budgeted {
    let budgeted = try Budgeted(limit)
    for number in 100..<100 + count { budgeted.fixture.store.put("d/f\(number)", "content \(number)") }
    return budgeted
  }

  private func most(_ times: [Instant], in length: Duration) -> Int {
    var (first, most) = (0, 0)
    for index in times.indices {
      while times[index] - times[first] >= length { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  @Test func `warm waits for its turn, and all comes in the end`() async throws {
    let budgeted = try filled("200req/hour", 60)
    let fixture = budgeted.fixture
    let started = fixture.clock.now()
    let plan = await fixture.mirror.planWarming([WarmTarget(Array("d".utf8))])
    #expect(await fixture.mirror.warm(plan) == [])
    let times = budgeted.metered.times
    #expect(times.count == 61)
    // A tenth may go at once, of which half is left to validations; then one each 18 seconds.
    #expect(times.count { $0 - started < .seconds(10) } <= 12)
    #expect(times.last.map { $0 - started > .seconds(600) } == true)
    #expect(try budgeted.logged("stretch") == 0 && budgeted.logged("failed") == 0)
    await fixture.close()
  }

  @Test func `warm ends where the reserve begins, and readers have it`() async throws {
    let budgeted = try filled("100req/day", 200)
    let fixture = budgeted.fixture
    let plan = await fixture.mirror.planWarming([WarmTarget(Array("d".utf8))])
    let failures = await fixture.mirror.warm(plan)
    // The next turn is a quarter of an hour away: that is too long to wait for.
    #expect(failures.allSatisfy { $0.reason == .inputOutput })
    #expect((190..<200).contains(failures.count), "\(failures.count)")
    // However often it is begun again, the last fifth is left.
    for _ in 0..<100 {
      fixture.clock.advance(.seconds(600))
      _ = await fixture.mirror.warm(plan)
    }
    #expect(most(budgeted.metered.times, in: .seconds(86_400)) <= 80)
    #expect(budgeted.metered.times.count > 50)
    let before = budgeted.metered.times.count
    let rest = await fixture.mirror.planWarming([WarmTarget(Array("d".utf8))])
    for file in rest.files.suffix(10) {
      let name = String(decoding: fixture.mirror.path(of: file.id), as: UTF8.self)
      #expect(await fixture.read(name) == "content " + name.dropFirst(3))
    }
    #expect(budgeted.metered.times.count <= before + 10)
    await fixture.close()
  }

  @Test func `pins are looked after at the same pace`() async throws {
    let budgeted = try filled("100req/hour", 200)
    let fixture = budgeted.fixture
    await fixture.mirror.pin(ObjectKey("d/"), true)
    let keeper = PinKeeper(fixture.mirror)
    for _ in 0..<100 {
      let pause = await keeper.round()
      fixture.clock.advance(pause)
    }
    #expect(most(budgeted.metered.times, in: .seconds(3600)) <= 80)
    #expect(budgeted.metered.times.count > 100)
    await fixture.close()
  }

  @Test func `a reader who waits for the same as warm is given money where warm is not`() async throws {
    let budgeted = try filled("10req/day", 40)
    let fixture = budgeted.fixture
    let plan = await fixture.mirror.planWarming([WarmTarget(Array("d".utf8))])
    async let failures = fixture.mirror.warm(plan)
    let read = await fixture.read("d/f139")
    #expect(read == "content 139")
    #expect(await failures.count >= 30)
    await fixture.close()
  }
}
