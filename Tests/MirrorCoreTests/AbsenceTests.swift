// A name that does not exist is not asked for again within its lifetime, and no restart cuts that short or draws it out.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct AbsenceTests {
  private static func rules(negative: Duration) -> FreshnessRules {
    var rules = FreshnessRules(default: .seconds(3600))
    rules.negative = negative
    return rules
  }

  /// A mirror that has heard that `d/nope` and `none/at/all` do not exist, and was ended.
  private func heard(negative: Duration = .seconds(60)) async throws -> TemporaryDirectory {
    let fixture = try MirrorFixture(Self.rules(negative: negative))
    fixture.store.put("d/1", "x")
    _ = try await fixture.mirror.start()
    #expect(await fixture.errno("d/nope") == .noEntry)
    #expect(await fixture.errno("none") == .noEntry)
    await fixture.close()
    return fixture.directory
  }

  private func remounted(
    _ directory: TemporaryDirectory, negative: Duration = .seconds(60), after time: Duration = .seconds(10)
  ) throws -> MirrorFixture {
    let fixture = try MirrorFixture(Self.rules(negative: negative), in: directory, clock: ManualClock())
    fixture.clock.advance(time)
    fixture.store.put("d/1", "x").put("d/nope", "there by now")
    return fixture
  }

  @Test(arguments: [false, true])
  func `a remount within the lifetime asks nothing, after it the name is asked for`(isListed: Bool) async throws {
    let again = try remounted(await heard())
    if isListed { #expect(await again.list("d") == .success(["1"])) }
    #expect(await again.errno("d/nope") == .noEntry)
    #expect(await again.errno("none") == .noEntry)
    let explained = try #require(await again.mirror.explain(Array("d/nope".utf8)))
    #expect(explained.verdict == .absent && explained.nextRequest == nil)
    #expect(again.store.takeLog() == [])
    again.clock.advance(.seconds(49))
    #expect(await again.errno("d/nope") == .noEntry)
    #expect(again.store.takeLog() == [])
    again.clock.advance(.seconds(2))
    #expect(await again.read("d/nope") == "there by now")
    await again.close()
  }

  @Test func `a directory that took the place of a file shows to whoever looks again`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("a", "file").put("z", "beside")
    #expect(await fixture.read("a") == "file")
    fixture.store.put("a/b", "below").delete("a")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    #expect(await fixture.errno("a") == .noEntry)
    #expect(fixture.store.takeLog().count == 1)
    fixture.clock.advance(.milliseconds(101))
    #expect(await fixture.read("a/b") == "below")
    #expect(await fixture.node("a")?.isDirectory == true)
    await fixture.close()
  }

  @Test func `a deleted file costs one request, and one more where somebody looks again`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("a", "file").put("z", "beside")
    #expect(await fixture.read("a") == "file")
    fixture.store.delete("a")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    for _ in 0..<100 { #expect(await fixture.errno("a") == .noEntry) }
    #expect(fixture.store.takeLog().count == 1)
    for _ in 0..<48 {
      fixture.clock.advance(.milliseconds(101))
      #expect(await fixture.errno("a") == .noEntry)
    }
    #expect(fixture.store.takeLog().count == 1)
    await fixture.close()
  }

  @Test func `a program that is kept quiet hears of it too`() async throws {
    let again = try remounted(await heard())
    let quiet = QuietView(of: again.mirror)
    let directory = try #require(await again.node("d"))
    let answer = await withCheckedContinuation { continuation in
      quiet.lookUp(Array("nope".utf8), in: directory.node) {
        continuation.resume(returning: $0)
        return true
      }
    }
    guard case .absent = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(again.store.takeLog() == [])
    await again.close()
  }

  @Test(arguments: [-3600, -90, 3600])
  func `a wall clock that was set makes it stale, never fresher`(step: Int) async throws {
    let again = try remounted(await heard(), after: .zero)
    again.clock.stepWall(.seconds(step))
    #expect(await again.read("d/nope") == "there by now")
    await again.close()
  }

  @Test func `a shorter lifetime holds for what was heard under a longer one`() async throws {
    let again = try remounted(await heard(), negative: .seconds(5))
    #expect(await again.read("d/nope") == "there by now")
    await again.close()
  }

  @Test func `what would be over in less than a second is not kept`() async throws {
    let again = try remounted(await heard(negative: .milliseconds(999)), after: .zero)
    #expect(await again.cache.catalogue.absence(ObjectKey("d/nope")) == nil)
    await again.close()
  }

  @Test func `refresh ends it, in memory and on disk`() async throws {
    let directory = try await heard()
    let again = try remounted(directory)
    #expect(try #require(await again.mirror.refresh(Array("d".utf8))) > 0)
    #expect(await again.read("d/nope") == "there by now")
    #expect(await again.mirror.refresh(Array("none".utf8)) == 1)
    #expect(await again.mirror.refresh(Array("none".utf8)) == nil)
    await again.close()
    let third = try remounted(directory)
    #expect(await third.read("d/nope") == "there by now")
    #expect(await third.cache.catalogue.absence(ObjectKey("none")) == nil)
    await third.close()
  }

  @Test func `a name that came and went again is asked for`() async throws {
    let directory = try await heard(negative: .seconds(3000))
    let again = try remounted(directory, negative: .seconds(3000))
    _ = await again.mirror.refresh([])
    #expect(await again.list("d") == .success(["1", "nope"]))
    await again.close()
    let third = try remounted(directory, negative: .seconds(3000))
    #expect(await third.read("d/nope") == "there by now")
    await third.close()
  }
}
