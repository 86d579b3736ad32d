// News of a key make stale what it concerns, and nothing else; what nobody tells is seen when its lifetime ends.
import MirrorCore
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventTests {
  private static func rules() -> FreshnessRules {
    var rules = FreshnessRules(default: .seconds(3600))
    rules.negative = .seconds(3600)
    return rules
  }

  private func fixture() async throws -> MirrorFixture {
    let fixture = try MirrorFixture(Self.rules(), sleep: { _ in try? await Task.sleep(for: .milliseconds(50)) })
    fixture.store.put("d/a", "a").put("d/b", "b").put("e/c", "c").put("top", "t")
    _ = try await fixture.mirror.start()
    return fixture
  }

  /// All names are seen and read, and all are fresh.
  private func lookAround(_ fixture: MirrorFixture) async {
    for directory in ["", "d", "e"] { _ = await fixture.list(directory) }
    for name in ["d/a", "d/b", "e/c", "top"] { _ = await fixture.read(name) }
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(1))
  }

  private func written(_ key: String) -> KeyChange { KeyChange(ObjectKey(key)) }
  private func deleted(_ key: String) -> KeyChange { KeyChange(ObjectKey(key), isRemoval: true) }

  @Test func `a file that was replaced is asked for at its next use, and no other`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    fixture.store.put("d/a", "new")
    #expect(await fixture.read("d/a") == "a")
    await fixture.mirror.heed(written("d/a"))
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.read("d/a") == "new")
    #expect(fixture.store.takeLog().count == 1)
    for name in ["d/a", "d/b", "e/c", "top"] { _ = await fixture.read(name) }
    for directory in ["", "d", "e"] { _ = await fixture.list(directory) }
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `news that changed nothing cost one question`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    await fixture.mirror.heed(written("d/a"))
    #expect(await fixture.read("d/a") == "a")
    #expect(fixture.store.takeLog().count == 1)
    await fixture.close()
  }

  @Test func `a new file appears by its name and in its directory`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    #expect(await fixture.errno("d/new") == .noEntry)
    fixture.store.put("d/new", "n")
    #expect(await fixture.errno("d/new") == .noEntry)
    #expect(await fixture.list("d") == .success(["a", "b"]))
    await fixture.mirror.heed(written("d/new"))
    #expect(await fixture.read("d/new") == "n")
    #expect(await fixture.list("d") == .success(["a", "b", "new"]))
    await fixture.close()
  }

  @Test func `a new directory appears with what is in it, however deep`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    #expect(await fixture.errno("x") == .noEntry)
    fixture.store.put("x/y/z", "deep")
    await fixture.mirror.heed(written("x/y/z"))
    #expect(await fixture.read("x/y/z") == "deep")
    #expect(await fixture.list("") == .success(["d", "e", "top", "x"]))
    await fixture.close()
  }

  @Test func `a deleted file vanishes, and with the last one its directory`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    fixture.store.delete("d/a")
    fixture.store.delete("e/c")
    await fixture.mirror.heed(deleted("d/a"))
    await fixture.mirror.heed(deleted("e/c"))
    #expect(await fixture.list("d") == .success(["b"]))
    #expect(await fixture.errno("d/a") == .noEntry)
    #expect(await fixture.errno("e/c") == .noEntry)
    #expect(await fixture.list("") == .success(["d", "top"]))
    await fixture.close()
  }

  @Test func `a directory appears where a file was`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    fixture.store.delete("top")
    fixture.store.put("top/f", "below")
    await fixture.mirror.heed(written("top/f"))
    await fixture.mirror.heed(deleted("top"))
    #expect(await fixture.list("") == .success(["d", "e", "top"]))
    #expect(await fixture.read("top/f") == "below")
    await fixture.close()
  }

  @Test(arguments: [false, true])
  func `news are remembered over a restart`(isNew: Bool) async throws {
    let first = try await fixture()
    await lookAround(first)
    #expect(await first.errno("d/new") == .noEntry)
    await first.mirror.heed(written(isNew ? "d/new" : "d/a"))
    await first.close()
    let again = try MirrorFixture(Self.rules(), in: first.directory, clock: ManualClock())
    again.clock.advance(.seconds(10))
    again.store.put("d/b", "b").put("d/a", "new").put("d/new", "n").put("e/c", "c").put("top", "t")
    _ = try await again.mirror.start()
    if isNew {
      #expect(await again.list("d") == .success(["a", "b", "new"]))
      #expect(await again.read("d/new") == "n")
    } else {
      let seen = await again.read("d/a")
      #expect(seen == "new", "\(again.store.takeLog())")
    }
    await again.close()
  }

  @Test func `news of what nobody ever saw, or of strange keys, harm nothing`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    for key in ["", "/", "//", "d/", "a//b", "../x", "d/a/", "top/"] {
      await fixture.mirror.heed(written(key))
      await fixture.mirror.heed(deleted(key))
    }
    await fixture.mirror.heed(KeyChange(ObjectKey([0xFF, 0, 0x2F, 0xFE])))
    #expect(await fixture.list("") == .success(["d", "e", "top"]))
    #expect(await fixture.read("d/a") == "a")
    await fixture.close()
  }

  @Test func `an answer that was under way when the news came does not count for long`() async throws {
    let fixture = try await fixture()
    await lookAround(fixture)
    await fixture.mirror.heed(written("d/a"))
    fixture.store.closeGate()
    async let old = fixture.read("d/a")
    #expect(await becomes(true) { fixture.store.asked("get d/a") == 1 })
    // Whatever that answer will be, it may be that of a moment before.
    await fixture.mirror.heed(written("d/a"))
    fixture.store.openGate()
    #expect(await old == "a")
    #expect(
      await becomes(2) {
        _ = await fixture.read("d/a")
        return fixture.store.asked("get d/a")
      })
    await fixture.close()
  }
}
