// Requests counted and priced.
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `The ledger` {
  let clock = ManualClock(wall: WallTime(seconds: 20_000 * 86400 + 86399))

  @Test func `counts every attempt by kind and outcome`() {
    let ledger = Ledger(clock: clock)
    ledger.record(.get, status: 200, bytes: 1000)
    ledger.record(.get, status: 304, bytes: 0)
    ledger.record(.head, status: 404, bytes: 0)
    ledger.record(.list, status: 503, bytes: 200)
    ledger.record(.list, status: 0, bytes: 0)
    ledger.record(.get, status: 412, bytes: 0)
    ledger.record(.other, status: 403, bytes: 0)
    let counts = ledger.sinceMount
    #expect(counts.gets == 3)
    #expect(counts.heads == 1)
    #expect(counts.lists == 2)
    #expect(counts.others == 1)
    #expect(counts.total == 7)
    #expect(counts.notModified == 1)
    #expect(counts.failed == 3)
    #expect(counts.bytesReceived == 1200)
  }

  @Test func `prices a listing twelve and a half times a check`() {
    var counts = RequestCounts()
    for _ in 0..<1000 { counts.add(.get, status: 200, bytes: 1) }
    for _ in 0..<1000 { counts.add(.list, status: 200, bytes: 0) }
    for _ in 0..<1000 { counts.add(.head, status: 200, bytes: 0) }
    var prices = Prices()
    #expect(abs(counts.cost(prices) - 0.0058) < 1e-12)
    #expect(abs(prices.of(.list) / prices.of(.get) - 12.5) < 1e-9)
    prices.perByteReceived = 0.001
    #expect(abs(counts.cost(prices) - 1.0058) < 1e-9)
  }

  @Test func `gives each UTC day its own counts, once`() {
    let ledger = Ledger(clock: clock)
    ledger.record(.get, status: 200, bytes: 1)
    clock.advance(.seconds(1))
    ledger.record(.get, status: 200, bytes: 2)
    ledger.record(.list, status: 200, bytes: 3)
    let days = ledger.takeUnsaved()
    #expect(days.keys.sorted() == [20_000, 20_001])
    #expect(days[20_001]?.total == 2)
    #expect(ledger.takeUnsaved().isEmpty)
    #expect(ledger.sinceMount.total == 3)
  }

  @Test func `what could not be saved is added to what came since`() {
    let ledger = Ledger(clock: clock)
    ledger.record(.get, status: 200, bytes: 1)
    let days = ledger.takeUnsaved()
    ledger.record(.head, status: 200, bytes: 2)
    ledger.putBack(days)
    let all = ledger.takeUnsaved()
    #expect(all[20_000]?.gets == 1)
    #expect(all[20_000]?.heads == 1)
    #expect(all[20_000]?.bytesReceived == 3)
  }
}
