// What a server lacks is remembered for some days, and until it is contradicted.
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ServerTraitsTests {
  private let clock = ManualClock()

  @Test func `a lack holds for days, and is forgotten then`() {
    let traits = ServerTraits(clock: clock)
    #expect(!traits.lacks(.range))
    traits.note(.range)
    #expect(traits.lacks(.range) && traits.all == [.range])
    clock.advance(ServerTraits.memory - .seconds(1))
    #expect(traits.lacks(.range))
    clock.advance(.seconds(2))
    #expect(!traits.lacks(.range) && traits.all == [])
    // By a clock that was set back it is of the future.
    traits.note(.match)
    clock.stepWall(.seconds(-3600))
    #expect(!traits.lacks(.match))
  }

  @Test func `what changes is told, and what was kept comes back`() {
    let told = Mutex<[String]>([])
    let traits = ServerTraits(clock: clock)
    traits.remember([.noneMatch: clock.wall()]) { lack, met in
      told.withLock { $0.append("\(lack.rawValue) \(met == nil ? "not" : "met")") }
    }
    #expect(traits.lacks(.noneMatch))
    traits.note(.match)
    traits.note(.match)
    traits.contradict(.noneMatch)
    traits.contradict(.sizes)
    #expect(!traits.lacks(.noneMatch))
    clock.advance(.seconds(7200))
    traits.note(.match)
    #expect(told.withLock { $0 } == ["if-match met", "if-none-match not", "if-match met"])
  }

  @Test func `what the kind of bucket tells is not to be contradicted`() {
    let traits = ServerTraits(clock: clock, given: [.order])
    traits.contradict(.order)
    clock.advance(ServerTraits.memory * 2)
    #expect(traits.lacks(.order) && traits.all == [.order])
  }
}
