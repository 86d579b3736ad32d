import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

// Fetching ahead: what is found, what is fetched, what is left alone, and what is told.
@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct WarmTests {
  private func path(_ text: String) -> WarmTarget { WarmTarget(Array(text.utf8)) }
  private func pattern(_ text: String) -> WarmTarget { WarmTarget(Array(text.utf8), isPattern: true) }

  private func filled() throws -> MirrorFixture {
    let fixture = try MirrorFixture()
    for name in ["a/1.txt", "a/2.txt", "a/b/3.txt", "a/b/4.bin", "c.txt"] {
      fixture.store.put(name, "content of \(name)")
    }
    return fixture
  }

  private func gets(_ fixture: MirrorFixture) -> Int { fixture.store.takeLog().count { $0.hasPrefix("get") } }

  @Test func `sizes of any sum are planned and given up`() async throws {
    let fixture = try MirrorFixture()
    for number in 0..<20 {
      fixture.store.put("a/\(number)", "x")
      fixture.store.change("a/\(number)") { $0.toldSize = 999_999_999_999_999_999 }
    }
    let plan = await fixture.mirror.planWarming([path("a")])
    #expect((plan.objects, plan.bytes, plan.missingBytes) == (20, .max, .max))
    fixture.store.fail(.unreachable)
    #expect(await fixture.mirror.warm(plan).count == 20)
    await fixture.close()
  }

  @Test func `a tree is fetched once, and a plan tells it before`() async throws {
    let fixture = try filled()
    let plan = await fixture.mirror.planWarming([path("a")])
    #expect((plan.objects, plan.missingObjects, plan.requests) == (4, 4, 4))
    #expect(plan.bytes == plan.missingBytes && plan.bytes == 76)
    #expect(abs(plan.cost - 4 * Prices().perGet) < 1e-12)
    #expect(gets(fixture) == 0)
    #expect(await fixture.mirror.warm(plan) == [])
    #expect(gets(fixture) == 4)
    #expect(await fixture.read("a/b/3.txt") == "content of a/b/3.txt")
    let again = await fixture.mirror.planWarming([path("a"), path("")])
    #expect((again.objects, again.missingObjects, again.requests) == (5, 1, 1))
    #expect(await fixture.mirror.warm(again) == [])
    #expect(fixture.store.takeLog() == ["list  flat", "get c.txt if-match"])
    await fixture.close()
  }

  @Test(arguments: [
    ("a/*.txt", 2), ("a/*", 4), ("**/*.txt", 4), ("a/**", 4), ("a/?/[0-3].*", 1), ("*", 5), ("**/b/*", 2), ("a/b", 2),
  ])
  func `a pattern stands for the names in the bucket`(_ text: String, _ count: Int) async throws {
    let fixture = try filled()
    let plan = await fixture.mirror.planWarming([pattern(text)])
    #expect(plan.objects == count)
    #expect(plan.failures == [])
    await fixture.close()
  }

  @Test func `names are bytes, and those of a list are no patterns`() async throws {
    let fixture = try MirrorFixture()
    let name: [UInt8] = [0x66, 0xFF, 0x0A, 0x2A]
    fixture.store.put(bytes: name, [1, 2, 3])
    fixture.store.put("f[1]", "x")
    let plan = await fixture.mirror.planWarming([WarmTarget(name), path("f[1]")])
    #expect((plan.objects, plan.failures.count) == (2, 0))
    #expect(await fixture.mirror.warm(plan) == [])
    await fixture.close()
  }

  @Test func `what is not there is named, and the rest is fetched`() async throws {
    let fixture = try filled()
    let plan = await fixture.mirror.planWarming([path("none"), path("c.txt"), path("c.txt/x"), pattern("z*")])
    #expect(
      plan.failures == [
        WarmFailure(path: Array("none".utf8), reason: .noEntry),
        WarmFailure(path: Array("c.txt/x".utf8), reason: .notDirectory),
        WarmFailure(path: Array("z*".utf8), reason: .noEntry),
      ])
    fixture.store.delete("c.txt")
    #expect(await fixture.mirror.warm(plan) == [WarmFailure(path: Array("c.txt".utf8), reason: .noEntry)])
    await fixture.close()
  }

  @Test func `many names of one directory are listed, not asked for one by one`() async throws {
    let fixture = try MirrorFixture()
    for number in 100..<200 { fixture.store.put("d/n\(number)", "x") }
    for number in 100..<200 { fixture.store.put("e/n\(number)", "x") }
    fixture.store.setPageSize(10)
    let plan = await fixture.mirror.planWarming((100..<200).map { path("d/n\($0)") })
    #expect(plan.objects == 100)
    let log = fixture.store.takeLog()
    #expect(log.count <= 12 + 12, "\(log)")
    await fixture.close()
  }

  @Test func `a large file comes in parts, and progress only grows to all of it`() async throws {
    let fixture = try MirrorFixture(partSize: 1 << 20)
    let body = String(repeating: "0123456789abcdef", count: 700_000)
    fixture.store.put("large", body).put("small", "x")
    let steps = Mutex<[WarmProgress]>([])
    let plan = await fixture.mirror.planWarming([path("")])
    #expect(plan.requests == 12)
    #expect(await fixture.mirror.warm(plan) { step in steps.withLock { $0.append(step) } } == [])
    #expect(gets(fixture) == 12)
    let seen = steps.withLock { $0 }
    #expect(seen.count >= 3)
    #expect(seen.last?.bytes == plan.missingBytes && seen.last?.objects == 2)
    #expect(await fixture.read("large") == body)
    #expect(gets(fixture) == 0)
    await fixture.close()
  }

  @Test func `what is stale is validated, and fetched only if it changed`() async throws {
    let fixture = try filled()
    #expect(await fixture.mirror.warm(await fixture.mirror.planWarming([path("c.txt"), path("a/1.txt")])) == [])
    fixture.store.put("c.txt", "new")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    let plan = await fixture.mirror.planWarming([path("c.txt"), path("a/1.txt")])
    #expect((plan.missingObjects, plan.requests) == (0, 2))
    #expect(await fixture.mirror.warm(plan) == [])
    #expect(gets(fixture) == 2)
    #expect(await fixture.read("c.txt") == "new")
    #expect(gets(fixture) == 0)
    await fixture.close()
  }

  @Test func `what has no room is told, and never read past the cache`() async throws {
    let fixture = try MirrorFixture(limit: 200_000)
    fixture.store.put("large", String(repeating: "x", count: 300_000))
    let plan = await fixture.mirror.planWarming([path("large")])
    #expect(await fixture.mirror.warm(plan) == [WarmFailure(path: Array("large".utf8), reason: .noSpace)])
    #expect(gets(fixture) == 0)
    await fixture.close()
  }

  @Test func `a cancelled task stops`() async throws {
    let fixture = try MirrorFixture()
    for number in 100..<200 { fixture.store.put("n\(number)", "x") }
    let plan = await fixture.mirror.planWarming([path("")])
    fixture.store.closeGate()
    let work = Task { await fixture.mirror.warm(plan) }
    var count = 0
    #expect(
      await becomes(true) {
        count += gets(fixture)
        return count > 0
      })
    work.cancel()
    fixture.store.openGate()
    _ = await work.value
    #expect(count + gets(fixture) <= 13)
    await fixture.close()
  }
}
