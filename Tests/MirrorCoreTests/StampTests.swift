// Stamps of the wall clock that a later process turns back into instants.
import MirrorPlatform
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct StampTests {
  private let now = Instant(nanoseconds: 1 << 50)

  private func instant(_ stamp: Int64, wall: Int64, latest: Int64) -> Instant {
    var effects = Effects()
    effects.clocks = (now, WallTime(milliseconds: wall))
    effects.latest = WallTime(milliseconds: latest)
    return effects.instant(WallTime(milliseconds: stamp))
  }

  @Test(arguments: [0, 1, 4_000, 10_000, 25_000, .max] as [Int64])
  func `no stamp is fresher than now, whatever the clock showed before`(latest: Int64) {
    for stamp in [.min, 0, 1, 4_001, 9_999, 10_000, 10_001, .max] as [Int64] {
      #expect(instant(stamp, wall: 10_000, latest: latest) <= now, "\(stamp)")
    }
  }

  @Test func `a stamp is as old as the time that has passed since`() {
    #expect(instant(9_000, wall: 10_000, latest: 10_000) == now + .seconds(-1))
    #expect(instant(9_000, wall: 10_000, latest: 4_000) == now + .seconds(-1), "the clock was set forward since")
    #expect(instant(9_000, wall: 10_000, latest: 25_000) == now + .seconds(-16), "the clock was set back by 15 s")
    #expect(instant(10_001, wall: 10_000, latest: 25_000) == .distantPast, "from the future: nobody knows")
    #expect(instant(0, wall: 10_000, latest: 10_000) == .distantPast, "never")
  }
}
