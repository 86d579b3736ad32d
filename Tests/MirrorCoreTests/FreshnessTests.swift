// Promise 1 and 3: how old an answer may be, and what it costs to know.
import MirrorCore
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1))) struct FreshnessTests {
  @Test func `within the window a file is served without a request, after it by one conditional GET`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "one")
    #expect(await fixture.read("f") == "one")
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(59))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == [])
    fixture.clock.advance(.seconds(2))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == ["get f 0-262144 if-none-match"])
    await fixture.close()
  }

  @Test func `a changed object costs one request and leads to a new node`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "AAAA")
    let old = try #require(await fixture.node("f"))
    #expect(await fixture.read(old) == .success(Array("AAAA".utf8)))
    fixture.store.put("f", "BBBB")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    let new = try #require(await fixture.node("f"))
    #expect(await fixture.read(new) == .success(Array("BBBB".utf8)))
    #expect(new.node != old.node && new.inode != old.inode)
    #expect(fixture.store.takeLog() == ["get f 0-262144 if-none-match"])
    #expect(await fixture.read(old) == .success(Array("AAAA".utf8)), "the old node keeps its bytes")
    await fixture.close()
  }

  @Test func `a hundred look-ups of one stale name make one request`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "x")
    #expect(await fixture.read("f") == "x")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    fixture.store.closeGate()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 { group.addTask { await fixture.node("f") != nil } }
      try? await Task.sleep(for: .milliseconds(100))
      fixture.store.openGate()
      for await found in group { #expect(found) }
    }
    #expect(fixture.store.takeLog().count == 1)
    await fixture.close()
  }

  @Test func `with lifetime always the second look-up for a new node counts as the first`() async throws {
    var rules = FreshnessRules()
    try rules.add("always")
    let fixture = try MirrorFixture(rules)
    fixture.store.put("f", "one")
    #expect(await fixture.read("f") == "one")
    fixture.clock.advance(.seconds(1))
    fixture.store.put("f", "two")
    _ = fixture.store.takeLog()
    let first = try #require(await fixture.node("f"))
    fixture.clock.advance(.milliseconds(50))
    let second = try #require(await fixture.node("f"))
    #expect(first.node == second.node)
    #expect(fixture.store.takeLog().count == 1)
    fixture.clock.advance(.milliseconds(101))
    _ = await fixture.node("f")
    #expect(fixture.store.takeLog().count == 1)
    await fixture.close()
  }

  @Test func `the first rule that matches decides`() throws {
    var rules = FreshnessRules()
    for rule in ["15m", "*.css=always", "img/**=forever", "a/?.txt=1h"] { try rules.add(rule) }
    func lifetime(_ path: String) -> Lifetime { rules.lifetime(of: Array(path.utf8)[...]) }
    #expect(lifetime("x/y.css") == .window(.zero))
    #expect(lifetime("img/a/b.png") == .forever)
    #expect(lifetime("img") == .window(.seconds(900)))
    #expect(lifetime("a/b.txt") == .window(.seconds(3600)))
    #expect(lifetime("a/bb.txt") == .window(.seconds(900)))
    #expect(throws: RuleError.self) { try rules.add("*.js=sometimes") }
    #expect(throws: RuleError.self) { try rules.add("=5s") }
  }

  @Test func `a remount inside the window sends nothing, and a clock set back makes all stale`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/f", "one").put("g", "two")
    _ = try await fixture.mirror.start()
    #expect(await fixture.read("d/f") == "one")
    #expect(await fixture.read("g") == "two")
    await fixture.close()

    let again = try MirrorFixture(in: fixture.directory)
    again.store.put("d/f", "one").put("g", "two")
    #expect(try await again.mirror.start())
    #expect(await again.read("d/f") == "one")
    #expect(await again.read("g") == "two")
    #expect(await again.list("d") == .success(["f"]))
    #expect(again.store.takeLog() == [])
    await again.close()

    let earlier = try MirrorFixture(in: fixture.directory)
    earlier.clock.stepWall(.seconds(-3600))
    earlier.store.put("d/f", "one").put("g", "two")
    _ = try await earlier.mirror.start()
    #expect(earlier.store.takeLog() != [])
    await earlier.close()
  }

  @Test func `a validated copy is not fetched again after a listing in a new run`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "one")
    #expect(await fixture.read("f") == "one")
    await fixture.close()
    let again = try MirrorFixture(in: fixture.directory)
    again.clock.advance(.seconds(120))
    again.store.put("f", "one")
    #expect(await again.list("") == .success(["f"]))
    again.clock.advance(.seconds(61))
    _ = again.store.takeLog()
    #expect(await again.read("f") == "one")
    #expect(again.store.takeLog() == ["get f 0-262144 if-none-match"])
    await again.close()
  }

  @Test func `a name that was absent is asked for again when its own lifetime is over`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/1", "x")
    #expect(await fixture.list("d") == .success(["1"]))
    _ = fixture.store.takeLog()
    for _ in 0..<1000 { #expect(await fixture.errno("d/nope") == .noEntry) }
    #expect(fixture.store.takeLog() == [], "the fresh listing answers")
    fixture.store.put("d/nope", "now")
    fixture.clock.advance(.seconds(6))
    #expect(await fixture.read("d/nope") == "now")
    await fixture.close()
  }

  @Test func `refresh makes a name stale at once and counts what it marked`() async throws {
    let fixture = try MirrorFixture(FreshnessRules(default: .seconds(3600)))
    fixture.store.put("d/a", "1").put("d/b", "2")
    #expect(await fixture.read("d/a") == "1")
    #expect(await fixture.read("d/b") == "2")
    fixture.store.put("d/a", "3")
    #expect(await fixture.mirror.refresh(Array("d/a".utf8)) == 1)
    _ = fixture.store.takeLog()
    #expect(await fixture.read("d/a") == "3")
    #expect(await fixture.read("d/b") == "2")
    #expect(fixture.store.takeLog() == ["get d/a 0-262144 if-none-match"])
    #expect(await fixture.mirror.refresh(Array("unknown/x".utf8)) == nil)
    #expect(try #require(await fixture.mirror.refresh([])) >= 2)
    await fixture.close()
  }

  @Test func `within stale-while-revalidate the old answer comes at once and the new one next`() async throws {
    var rules = FreshnessRules()
    rules.staleWhileRevalidate = .seconds(30)
    let fixture = try MirrorFixture(rules)
    fixture.store.put("f", "old")
    #expect(await fixture.read("f") == "old")
    fixture.store.put("f", "new")
    fixture.clock.advance(.seconds(70))
    fixture.store.closeGate()
    #expect(await fixture.read("f") == "old", "answered while the origin is asked")
    fixture.store.openGate()
    #expect(await becomes("new") { await fixture.read("f") })
    fixture.store.put("f", "newer")
    fixture.clock.advance(.seconds(91))
    #expect(await fixture.read("f") == "newer", "beyond the bound the answer waits for the origin")
    await fixture.close()
  }

  @Test func `what was refreshed is stale after a restart, too, whatever its directory's listing says`() async throws {
    let first = try MirrorFixture()
    first.store.put("d/a", "old").put("d/b", "b")
    #expect(await first.list("d") == .success(["a", "b"]))
    #expect(await first.read("d/a") == "old")
    #expect(await first.mirror.refresh(Array("d/a".utf8)) == 1)
    await first.close()
    first.store.put("d/a", "new")
    let again = try MirrorFixture(in: first.directory, memory: first.store, clock: first.clock)
    #expect(await again.read("d/a") == "new")
    await again.close()
  }

  @Test func `an answer that brings bytes also vouches for them, unless it was asked before a refresh`() async throws {
    let fixture = try MirrorFixture()
    let body = String(repeating: "x", count: 300_000)
    fixture.store.put("d/a.txt", "a")
    #expect(await fixture.read("d/a.txt") == "a")
    fixture.clock.advance(.seconds(61))
    fixture.store.put("d/f.txt", body)
    let node = try #require(await fixture.node("d/f.txt"))
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    #expect(await fixture.read(node) == .success(Array(body.utf8)))
    #expect(await fixture.node("d/f.txt")?.node == node.node)
    #expect(fixture.store.takeLog() == ["get d/f.txt 131072-300000 if-match"])

    fixture.store.put("d/g.txt", body)
    let other = try #require(await fixture.node("d/g.txt"))
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.mirror.refresh(Array("d/g.txt".utf8)) == 1)
    _ = fixture.store.takeLog()
    #expect(await fixture.read(other) == .success(Array(body.utf8)))
    #expect(await fixture.node("d/g.txt")?.node == other.node)
    #expect(fixture.store.takeLog().count == 2)
    await fixture.close()
  }

  @Test func `refresh leaves absent names alone that only begin like what it marks`() async throws {
    let fixture = try MirrorFixture(FreshnessRules(default: .seconds(3600)))
    fixture.store.put("n", "x")
    #expect(await fixture.read("n") == "x")
    #expect(await fixture.errno("nope") == .noEntry)
    _ = await fixture.mirror.refresh(Array("n".utf8))
    _ = fixture.store.takeLog()
    #expect(await fixture.errno("nope") == .noEntry)
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `a clock that is set back after a restart makes nothing younger that was not looked at yet`() async throws
  {
    let first = try MirrorFixture()
    first.store.put("f", "old")
    #expect(await first.read("f") == "old")
    await first.close()
    let again = try MirrorFixture(in: first.directory, memory: first.store, clock: first.clock)
    again.clock.advance(.seconds(50))
    again.clock.stepWall(.seconds(-40))
    again.clock.advance(.seconds(15))
    again.store.put("f", "new")
    #expect(await again.read("f") == "new")
    await again.close()
  }

  @Test func `refresh keeps the age of what it marks`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "x")
    #expect(await fixture.read("f") == "x")
    fixture.clock.advance(.seconds(10))
    _ = await fixture.mirror.refresh(Array("f".utf8))
    let explanation = try #require(await fixture.mirror.explain(Array("f".utf8)))
    #expect(explanation.verdict == .stale && explanation.age == .seconds(10))
    await fixture.close()
  }
}
