// When credentials are fetched anew, by a clock that is moved by hand.
import MirrorPlatform
import Synchronization
import TestSupport
import Testing

@testable import MirrorAWS

/// Hands out numbered credentials, or fails; counts how often it is asked.
private final class Source: Sendable {
  struct State {
    var asked = 0
    var error: CredentialError?
    var life: Duration? = .seconds(3600)
    var isHeld = false
  }
  let state = Mutex(State())
  let clock: ManualClock
  init(_ clock: ManualClock) { self.clock = clock }

  var asked: Int { state.withLock { $0.asked } }

  func fetch() async throws(CredentialError) -> Credentials {
    let number = state.withLock { state in
      state.asked += 1
      return state.asked
    }
    while state.withLock({ $0.isHeld }) { await Task.yield() }
    if let error = state.withLock({ $0.error }) { throw error }
    let end = state.withLock { $0.life }.map { life in
      WallTime(milliseconds: clock.wall().milliseconds + life.nanosecondsClamped / 1_000_000)
    }
    return Credentials(accessKeyID: "K\(number)", secretAccessKey: "s", expiration: end)
  }
}

@Suite("Renewal of credentials", .timeLimit(.minutes(1)))
struct RenewedCredentialsTests {
  private let clock = ManualClock()

  private func renewed(_ source: Source, isStable: Bool = false) -> RenewedCredentials {
    RenewedCredentials("test", isStable: isStable, clock: clock, log: .none) { () async throws(CredentialError) in
      try await source.fetch()
    }
  }

  private func id(_ renewed: RenewedCredentials) async -> String {
    do { return try await renewed.credentials().accessKeyID } catch { return "error" }
  }

  @Test func `a hundred who ask at once make one fetch`() async throws {
    let source = Source(clock)
    let renewed = renewed(source)
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<100 { group.addTask { await id(renewed) } }
      for await one in group { #expect(one == "K1") }
    }
    #expect(source.asked == 1)
  }

  @Test func `those at hand are used while new ones are fetched, ahead of the end`() async throws {
    let source = Source(clock)
    let renewed = renewed(source)
    #expect(await id(renewed) == "K1")
    clock.advance(.seconds(2900))
    #expect(await id(renewed) == "K1" && source.asked == 1)
    source.state.withLock { $0.isHeld = true }
    clock.advance(.seconds(200))
    for _ in 0..<10 { #expect(await id(renewed) == "K1") }
    source.state.withLock { $0.isHeld = false }
    #expect(await eventually { source.asked == 2 })
    for _ in 0..<1000 where await id(renewed) != "K2" { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await id(renewed) == "K2" && source.asked == 2)
  }

  @Test func `a service that fails is asked at a pace, and nothing fails before the end`() async throws {
    let source = Source(clock)
    let renewed = renewed(source)
    #expect(await id(renewed) == "K1")
    source.state.withLock { $0.error = CredentialError("down") }
    clock.advance(.seconds(3100))
    for _ in 0..<40 {
      #expect(await id(renewed) == "K1")
      clock.advance(.seconds(10))
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(source.asked >= 3 && source.asked <= 25)
    clock.advance(.seconds(200))
    #expect(await id(renewed) == "error")
    let before = source.asked
    for _ in 0..<20 { #expect(await id(renewed) == "error") }
    #expect(source.asked == before)
    source.state.withLock { $0.error = nil }
    clock.advance(RenewedCredentials.largestPause)
    #expect(await id(renewed).hasPrefix("K"))
  }

  @Test func `those that may have been refused are renewed now and then, and go on if there are no others`()
    async throws
  {
    let source = Source(clock)
    let renewed = renewed(source)
    #expect(await id(renewed) == "K1")
    func doubt() async throws { renewed.refuse(try await renewed.credentials(), isCertain: false) }
    for _ in 0..<10 {
      clock.advance(.seconds(10))
      try await doubt()
    }
    #expect(await id(renewed) == "K1" && source.asked == 1)
    clock.advance(RenewedCredentials.doubtPause)
    try await doubt()
    #expect(await id(renewed) == "K2" && source.asked == 2)
    source.state.withLock { $0.error = CredentialError("down") }
    clock.advance(RenewedCredentials.doubtPause)
    for _ in 0..<10 {
      try await doubt()
      #expect(await id(renewed) == "K2" && source.asked == 3)
    }
  }

  @Test func `an instance's credentials go on where its service lags behind`() async throws {
    let source = Source(clock)
    let renewed = renewed(source, isStable: true)
    #expect(await id(renewed) == "K1")
    source.state.withLock { $0.error = CredentialError("down") }
    clock.advance(.seconds(4000))
    #expect(await id(renewed) == "K1")
  }

  @Test func `without an end they are fetched once, until they are refused`() async throws {
    let source = Source(clock)
    source.state.withLock { $0.life = nil }
    let renewed = renewed(source)
    #expect(await id(renewed) == "K1")
    clock.advance(.seconds(1_000_000))
    #expect(await id(renewed) == "K1")
    renewed.refuse(Credentials(accessKeyID: "K0", secretAccessKey: "s"))
    #expect(await id(renewed) == "K1")
    renewed.refuse(Credentials(accessKeyID: "K1", secretAccessKey: "s"))
    #expect(await id(renewed) == "K2")
    // Refused again at once: it is not fetched for every request.
    renewed.refuse(Credentials(accessKeyID: "K2", secretAccessKey: "s"))
    #expect(await id(renewed) == "K2")
  }

  @Test func `credentials of seconds are renewed in their last quarter`() async throws {
    let source = Source(clock)
    source.state.withLock { $0.life = .seconds(4) }
    let renewed = renewed(source)
    #expect(await id(renewed) == "K1")
    clock.advance(.milliseconds(2900))
    #expect(await id(renewed) == "K1" && source.asked == 1)
    clock.advance(.milliseconds(200))
    #expect(await id(renewed) == "K1")
    #expect(await eventually { source.asked == 2 })
  }
}
