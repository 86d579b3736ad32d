// Promise 5: what is here is served while the origin is not.
import MirrorCore
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1))) struct OutageTests {
  @Test(arguments: [
    StoreError.Code.unreachable, .timeout, .serverError, .throttled, .malformedResponse, .credentials, .invalidRequest,
  ])
  func `a stale copy is served when the origin fails, a cold name is an error and never absent`(
    _ code: StoreError.Code
  ) async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "good").put("cold", "never read")
    #expect(await fixture.read("f") == "good")
    #expect(await fixture.list("") == .success(["cold", "f"]))
    fixture.clock.advance(.seconds(120))
    fixture.store.fail(code)
    #expect(await fixture.read("f") == "good")
    #expect(await fixture.list("") == .success(["cold", "f"]))
    #expect(await fixture.errno("never-seen") == (code == .credentials ? .accessDenied : .inputOutput))
    let cold = try #require(await fixture.node("cold"))
    #expect(await fixture.read(cold) == .failure(code == .credentials ? .accessDenied : .inputOutput))
    #expect(fixture.mirror.status().served.stale > 0)
    await fixture.close()
  }

  @Test func `definite answers are obeyed`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "good").put("g", "kept")
    #expect(await fixture.read("f") == "good")
    fixture.clock.advance(.seconds(61))
    fixture.store.fail(.accessDenied)
    #expect(await fixture.errno("f") == .accessDenied)
    fixture.store.fail(nil)
    #expect(await fixture.read("f") == "good", "a refusal does not cost the copy")
    fixture.store.delete("f")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.errno("f") == .noEntry)
    await fixture.close()
  }

  @Test func `what was said to be gone is read again once the origin vouches for it`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "good")
    _ = await fixture.list("")
    let node = try #require(await fixture.node("f"))
    for code in [StoreError.Code.preconditionFailed, .rangeNotSatisfiable] {
      fixture.store.fail(code)
      #expect(await fixture.read(node) == .failure(.stale))
      #expect(await fixture.read(node) == .failure(.stale))
      fixture.store.fail(nil)
    }
    #expect(await fixture.read("f") == "good")
    #expect(await fixture.node("f")?.node == node.node)
    await fixture.close()
  }

  @Test func `no reader waits twice for what nobody answers`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "good")
    _ = await fixture.list("")
    let node = try #require(await fixture.node("f"))
    fixture.store.fail(.timeout)
    _ = fixture.store.takeLog()
    for _ in 0..<2 {
      #expect(await fixture.read(node) == .failure(.inputOutput))
      fixture.clock.advance(.milliseconds(800))
    }
    #expect(fixture.store.asked("get f") == 1)
    fixture.store.fail(nil)
    #expect(await fixture.read(node) == .success(Array("good".utf8)))
    await fixture.close()
  }

  @Test(arguments: [StoreError.Code.serverError, .throttled])
  func `nor does one for an origin that was too busy for as long as may be`(_ code: StoreError.Code) async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "good")
    _ = await fixture.list("")
    let node = try #require(await fixture.node("f"))
    fixture.store.closeGate()
    fixture.store.fail(code)
    _ = fixture.store.takeLog()
    async let first = fixture.read(node)
    #expect(await becomes(1) { fixture.store.asked("get f") })
    fixture.clock.advance(.seconds(25))
    fixture.store.fail(nil)
    fixture.store.openGate()
    #expect(await first == .failure(.inputOutput))
    #expect(await fixture.read(node) == .failure(.inputOutput))
    #expect(fixture.store.asked("get f") == 1)
    fixture.clock.advance(.seconds(1))
    #expect(await fixture.read(node) == .success(Array("good".utf8)))
    await fixture.close()
  }

  @Test(arguments: [StoreError.Code.unreachable, .wrongRegion, .invalidRequest])
  func `a start without the origin serves what an earlier run cached`(_ code: StoreError.Code) async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/f", "good")
    _ = try await fixture.mirror.start()
    #expect(await fixture.read("d/f") == "good")
    await fixture.close()
    let again = try MirrorFixture(in: fixture.directory)
    again.clock.advance(.seconds(7200))
    again.store.fail(code)
    #expect(try await again.mirror.start() == false)
    #expect(await again.read("d/f") == "good")
    #expect(await again.list("d") == .success(["f"]))
    await again.close()
  }

  @Test func `a start with nothing cached and no origin fails`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.fail(.unreachable)
    await #expect(throws: StoreError.self) { try await fixture.mirror.start() }
    await fixture.close()
  }

  @Test func `while nobody is answered, few questions wait for the silent origin`() async throws {
    var rules = FreshnessRules()
    try rules.add("always")
    let fixture = try MirrorFixture(rules, sleep: { _ in try? await Task.sleep(for: .milliseconds(1)) })
    for index in 0..<100 { fixture.store.put("f\(index)", "good") }
    for index in 0..<100 { #expect(await fixture.read("f\(index)") == "good") }
    fixture.clock.advance(.seconds(1))
    fixture.store.closeGate()
    _ = fixture.store.takeLog()
    for index in 0..<100 { #expect(await fixture.read("f\(index)") == "good") }
    #expect((1...16).contains(fixture.store.asked("get")), "of a hundred, each past its lifetime")
    fixture.store.openGate()
    fixture.store.put("f99", "new")
    #expect(await becomes("new") { await fixture.read("f99") }, "one answer, and all are asked again")
    await fixture.close()
  }

  @Test func `where no probe is allowed, a request finds out that the identity is good again`() async throws {
    let fixture = try MirrorFixture()
    let names = ["a", "b", "c", "d"]
    for name in names { fixture.store.put(name, "old") }
    for name in names { #expect(await fixture.read(name) == "old") }
    fixture.store.denyProbes()
    fixture.clock.advance(.seconds(61))
    fixture.store.fail(.credentials)
    for name in names { #expect(await fixture.read(name) == "old") }
    #expect(await becomes(false) { fixture.mirror.status().online })
    _ = fixture.store.takeLog()
    for _ in 0..<100 { for name in names { #expect(await fixture.read(name) == "old") } }
    #expect(fixture.store.asked("get") <= 3, "one with each probe")
    fixture.store.fail(nil)
    for name in names { fixture.store.put(name, "new") }
    #expect(await becomes("new") { await fixture.read("b") })
    #expect(await becomes(true) { fixture.mirror.status().online })
    #expect(await fixture.read("c") == "new")
    await fixture.close()
  }

  @Test func `stale-if-error bounds the age of what is served`() async throws {
    var rules = FreshnessRules()
    rules.staleIfError = .seconds(100)
    let fixture = try MirrorFixture(rules)
    fixture.store.put("f", "good")
    #expect(await fixture.read("f") == "good")
    fixture.store.fail(.serverError)
    fixture.clock.advance(.seconds(150))
    #expect(await fixture.read("f") == "good")
    fixture.clock.advance(.seconds(20))
    #expect(await fixture.errno("f") == .inputOutput)
    await fixture.close()
  }
}
