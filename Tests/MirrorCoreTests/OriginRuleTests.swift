// Rules at work: what objects say of themselves is obeyed where a rule says so, and costs what it must.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct OriginRuleTests {
  private func fixture(_ rules: String..., in old: MirrorFixture? = nil) throws -> MirrorFixture {
    var parsed = FreshnessRules()
    for rule in rules { try parsed.add(rule) }
    return try MirrorFixture(parsed, in: old?.directory)
  }
  private func control(_ text: String) -> CachingFields { CachingFields(cacheControl: text) }
  private let validation = ["get f 0-262144 if-none-match"]

  @Test func `an object's own lifetime counts, and a 304 may bring another`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "one", control("max-age=600")).put("g", "silent")
    #expect(await fixture.read("f") == "one")
    #expect(await fixture.read("g") == "silent")
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.read("g") == "silent")
    #expect(fixture.store.takeLog() == ["get g 0-262144 if-none-match"], "nothing said: the default")
    fixture.store.setCaching("f", control("max-age=10"))
    fixture.clock.advance(.seconds(600))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == validation)
    fixture.clock.advance(.seconds(11))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == validation)
    fixture.store.setCaching("f", CachingFields())
    fixture.clock.advance(.seconds(9))
    #expect(await fixture.read("f") == "one")
    fixture.clock.advance(.seconds(2))
    #expect(await fixture.read("f") == "one")
    fixture.clock.advance(.seconds(11))
    _ = fixture.store.takeLog()
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == validation, "a 304 that is silent leaves the lifetime as it was")
    await fixture.close()
  }

  @Test func `without a rule of origin headers are not obeyed`() async throws {
    let fixture = try fixture("60s")
    fixture.store.put("f", "one", control("no-store"))
    #expect(await fixture.read("f") == "one")
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(59))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.mirror.explain(Array("f".utf8))?.said == nil)
    await fixture.close()
  }

  @Test func `no-cache is asked for at every open, and no listing makes it fresh`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "one", control("no-cache"))
    #expect(await fixture.read("f") == "one")
    fixture.clock.advance(.seconds(1))
    #expect(await fixture.list("") == .success(["f"]))
    _ = fixture.store.takeLog()
    for _ in 0..<20 {
      fixture.clock.advance(.seconds(1))
      #expect(await fixture.read("f") == "one")
      #expect(fixture.store.takeLog() == validation)
    }
    await fixture.close()
  }

  @Test func `what only a listing told is fresh like it, until its own answer says otherwise`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "one", control("no-cache"))
    #expect(await fixture.list("") == .success(["f"]))
    _ = fixture.store.takeLog()
    let kernel = NoticeLog()
    fixture.mirror.attach(kernel)
    let node = try #require(await fixture.node("f"))
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.read(node) == .success(Array("one".utf8)))
    #expect(kernel.expired.withLock { $0 } == ["f"], "the kernel goes by what it was told at first")
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(1))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == validation)
    await fixture.close()
  }

  @Test func `a listing renews max-age, and Expires ends at its date`() async throws {
    let fixture = try fixture("origin,listing=always")
    let date = Timestamp(seconds: fixture.clock.wall().seconds).httpDate
    let end = Timestamp(seconds: fixture.clock.wall().seconds + 100).httpDate
    fixture.store.put("f", "one", control("max-age=100")).put("g", "two", CachingFields(expires: end, date: date))
    #expect(await fixture.read("f") == "one")
    #expect(await fixture.read("g") == "two")
    fixture.clock.advance(.seconds(90))
    #expect(await fixture.list("") == .success(["f", "g"]))
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(9))
    #expect(await fixture.read("g") == "two")
    #expect(fixture.store.takeLog() == [])
    fixture.clock.advance(.seconds(2))
    #expect(await fixture.read("g") == "two")
    #expect(fixture.store.takeLog() == ["get g 0-262144 if-none-match"])
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `Age of a cache on the way shortens what is left`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "one", CachingFields(cacheControl: "max-age=600", age: "590"))
    #expect(await fixture.read("f") == "one")
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(9))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == [])
    fixture.clock.advance(.seconds(2))
    #expect(await fixture.read("f") == "one")
    #expect(fixture.store.takeLog() == validation)
    await fixture.close()
  }

  @Test func `must-revalidate is not served stale, others are within their bounds`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("must", "1", control("max-age=10, must-revalidate"))
      .put("some", "2", control("max-age=10, stale-if-error=100")).put("any", "3", control("max-age=10"))
      .put("cached", "4", control("no-cache"))
    for name in ["must", "some", "any", "cached"] { #expect(await fixture.read(name) != nil) }
    fixture.clock.advance(.seconds(50))
    fixture.store.fail(.serverError)
    #expect(await fixture.errno("must") == .inputOutput)
    #expect(await fixture.errno("cached") == .inputOutput)
    #expect(await fixture.read("some") == "2")
    #expect(await fixture.read("any") == "3")
    fixture.clock.advance(.seconds(100))
    #expect(await fixture.errno("some") == .inputOutput)
    #expect(await fixture.read("any") == "3")
    await fixture.close()
  }

  @Test func `an object may allow stale-while-revalidate by itself`() async throws {
    let fixture = try fixture("*.txt=origin,swr=5s", "origin")
    let fields = control("max-age=60, stale-while-revalidate=30")
    fixture.store.put("f", "old", fields).put("f.txt", "old", fields)
    for name in ["f", "f.txt"] { #expect(await fixture.read(name) == "old") }
    for name in ["f", "f.txt"] { fixture.store.put(name, "new", fields) }
    fixture.clock.advance(.seconds(70))
    fixture.store.closeGate()
    #expect(await fixture.read("f") == "old", "answered while the origin is asked")
    fixture.store.openGate()
    #expect(await becomes("new") { await fixture.read("f") })
    #expect(await fixture.read("f.txt") == "new", "the rule's bound is tighter, and over")
    await fixture.close()
  }

  @Test func `no-store leaves nothing on the disk once nobody uses it`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "secret", control("no-store"))
    let node = try #require(await fixture.node("f"))
    #expect(await fixture.read(node) == .success(Array("secret".utf8)))
    fixture.clock.advance(.seconds(1))
    #expect(await fixture.read("f") == "secret", "while it is in use a 304 is enough")
    #expect(fixture.store.takeLog().last == validation[0])
    fixture.mirror.forget(node.node, count: 2)
    #expect(
      await becomes(0) {
        await fixture.cache.catalogue.flush(); return fixture.cache.usage().objects
      })
    fixture.clock.advance(.seconds(1))
    #expect(await fixture.read("f") == "secret")
    #expect(fixture.store.takeLog() == ["get f 0-262144"], "it is fetched again")
    await fixture.close()
  }

  @Test func `who only looks at a copy that must not be kept does not keep it`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "secret", control("no-store"))
    let node = try #require(await fixture.node("f"))
    #expect(await fixture.read(node) == .success(Array("secret".utf8)))
    await fixture.cache.catalogue.flush()
    #expect(await fixture.mirror.planWarming([WarmTarget(Array("f".utf8))]).objects == 1)
    let revision = ObjectRevision(etag: EntityTag("\"tag-1\""), size: 6, modified: nil)
    #expect(await fixture.cache.find(ObjectKey("f"), revision) != nil)
    fixture.mirror.forget(node.node, count: .max)
    #expect(
      await becomes(0) {
        await fixture.cache.catalogue.flush(); return fixture.cache.usage().objects
      })
    await fixture.close()
  }

  @Test func `a copy that must not be kept any more goes by the 304 that says so`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("f", "x", control("max-age=10"))
    let node = try #require(await fixture.node("f"))
    #expect(await fixture.read(node) == .success(Array("x".utf8)))
    fixture.mirror.forget(node.node, count: 1)
    #expect(fixture.cache.usage().objects == 1)
    fixture.store.setCaching("f", control("no-store"))
    fixture.clock.advance(.seconds(11))
    let again = try #require(await fixture.node("f"))
    fixture.mirror.forget(again.node, count: 1)
    #expect(
      await becomes(0) {
        await fixture.cache.catalogue.flush(); return fixture.cache.usage().objects
      })
    await fixture.close()
  }

  @Test func `a remount still knows what objects said`() async throws {
    let fixture = try fixture("origin")
    fixture.store.put("d/long", "1", control("max-age=600")).put("d/never", "2", control("no-cache"))
      .put("d/silent", "3").put("d/aged", "4", CachingFields(cacheControl: "max-age=600", age: "590"))
    let names = ["d/long", "d/never", "d/silent", "d/aged"]
    for name in names { #expect(await fixture.read(name) != nil) }
    await fixture.close()
    let again = try self.fixture("origin", in: fixture)
    again.store.put("d/long", "1").put("d/never", "2").put("d/silent", "3").put("d/aged", "4")
    again.clock.advance(.seconds(30))
    for name in names { #expect(await again.read(name) != nil) }
    #expect(again.store.takeLog() == ["get d/never 0-262144 if-none-match", "get d/aged 0-262144 if-none-match"])
    again.clock.advance(.seconds(100))
    #expect(await again.read("d/long") == "1")
    #expect(again.store.takeLog() == [])
    await again.close()
  }

  @Test func `a copy of unknown headers is asked for once`() async throws {
    let fixture = try fixture("forever")
    fixture.store.put("f", "x", control("max-age=600"))
    #expect(await fixture.read("f") == "x")
    await fixture.close()
    let again = try self.fixture("origin", in: fixture)
    again.store.put("f", "x", control("max-age=600"))
    #expect(await again.list("") == .success(["f"]))
    _ = again.store.takeLog()
    #expect(await again.read("f") == "x")
    #expect(again.store.takeLog() == validation)
    again.clock.advance(.seconds(500))
    #expect(await again.read("f") == "x")
    #expect(again.store.takeLog() == [])
    await again.close()
  }

  @Test func `absence and listings have the lifetimes of their rules`() async throws {
    let fixture = try fixture("*.tmp=60s,negative=30s", "live/=2s", "60s")
    fixture.store.put("live/a", "1").put("quiet/a", "1")
    #expect(await fixture.list("live") == .success(["a"]))
    #expect(await fixture.list("quiet") == .success(["a"]))
    for name in ["quiet/x.tmp", "quiet/x"] { #expect(await fixture.errno(name) == .noEntry) }
    for name in ["quiet/x.tmp", "quiet/x"] { fixture.store.put(name, "late") }
    _ = fixture.store.takeLog()
    fixture.clock.advance(.seconds(3))
    #expect(await fixture.list("quiet") == .success(["a"]))
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.list("live") == .success(["a"]))
    #expect(fixture.store.takeLog().count == 1)
    fixture.clock.advance(.seconds(3))
    #expect(await fixture.errno("quiet/x.tmp") == .noEntry)
    #expect(await fixture.read("quiet/x") == "late")
    await fixture.close()
  }

  @Test func `explain tells the rule, what the object said, its age and the next request`() async throws {
    let fixture = try fixture("*.html=origin,sie=1h", "img/=10m")
    fixture.store.put("a.html", "x", CachingFields(cacheControl: "max-age=600, must-revalidate", age: "30"))
      .put("b.html", "y").put("img/1", "z")
    for name in ["a.html", "b.html"] { #expect(await fixture.read(name) != nil) }
    fixture.clock.advance(.seconds(10))
    let spoken = try #require(await fixture.mirror.explain(Array("a.html".utf8)))
    #expect(spoken.rule == "*.html=origin,sie=1h" && spoken.said == "max-age=600, must-revalidate, age=30")
    #expect(spoken.verdict == .fresh && spoken.age == .seconds(40) && spoken.nextRequest == nil && spoken.nextCost == 0)
    #expect(await fixture.mirror.explain(Array("b.html".utf8))?.said == "")
    fixture.clock.advance(.seconds(600))
    let stale = try #require(await fixture.mirror.explain(Array("a.html".utf8)))
    #expect(stale.verdict == .stale && stale.nextRequest?.contains("If-None-Match") == true && stale.nextCost > 0)
    #expect(await fixture.list("img") == .success(["1"]))
    fixture.clock.advance(.seconds(5))
    let directory = try #require(await fixture.mirror.explain(Array("img".utf8)))
    #expect(directory.verdict == .directory && directory.rule == "img/=10m" && directory.lifetime == .seconds(600))
    #expect(directory.age == .seconds(5))
    await fixture.close()
  }
}

/// Names that the kernel was told to ask for again.
private final class NoticeLog: KernelNotices {
  let expired = Mutex<[String]>([])
  func expire(_ name: [UInt8], in parent: NodeID) {
    expired.withLock { $0.append(String(decoding: name, as: UTF8.self)) }
  }
  func invalidate(_ name: [UInt8], in parent: NodeID) {}
  func forgetContent(of node: NodeID) {}
}
