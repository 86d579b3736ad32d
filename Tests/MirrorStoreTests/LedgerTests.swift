// Requests counted, by class, prefix and day.
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `The ledger` {
  let clock = ManualClock(wall: WallTime(seconds: 20_000 * 86400 + 86399))

  private func ledger(prefix: String = "") -> Ledger { Ledger(prefix: ObjectKey(prefix), clock: clock) }

  @Test func `counts every attempt by kind and outcome`() {
    let ledger = ledger()
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
    #expect(counts.billed == 6)
    #expect(counts.bytesReceived == 1200)
  }

  @Test func `gives each UTC day its own entries, once`() {
    let ledger = ledger()
    ledger.record(.get, status: 200, bytes: 1)
    clock.advance(.seconds(1))
    ledger.record(.get, status: 200, bytes: 2)
    ledger.record(.get, status: 206, bytes: 5)
    ledger.record(.list, status: 200, bytes: 3)
    let entries = ledger.takeUnsaved()
    let root = ObjectKey("")
    #expect(
      entries == [
        LedgerEntry(day: 20_000, prefix: root, RequestClass(.get, .success)): Tally(requests: 1, bytes: 1),
        LedgerEntry(day: 20_001, prefix: root, RequestClass(.get, .success)): Tally(requests: 2, bytes: 7),
        LedgerEntry(day: 20_001, prefix: root, RequestClass(.list, .success)): Tally(requests: 1, bytes: 3),
      ])
    #expect(ledger.takeUnsaved().isEmpty)
    #expect(ledger.sinceMount.total == 4)
  }

  @Test func `what could not be saved is added to what came since`() {
    let ledger = ledger()
    ledger.record(.get, status: 200, bytes: 1)
    let entries = ledger.takeUnsaved()
    ledger.record(.get, status: 200, bytes: 2)
    ledger.putBack(entries)
    #expect(ledger.takeUnsaved().values.map(\.self) == [Tally(requests: 2, bytes: 3)])
  }

  @Test(arguments: [
    ("", "a/b/c", "a/"), ("", "top", ""), ("", "", ""), ("m/n/", "m/n/a/b", "a/"), ("m/n/", "m/n/f", ""),
    ("m/n/", "m/n/", ""), ("m/n/", "m/", ""), ("m/n/", "x/y/z/u", ""), ("", "/x", "/"), ("", "…/x", "…/"),
  ])
  func `an entry's prefix is the first component below what is mounted`(mounted: String, key: String, prefix: String) {
    let ledger = ledger(prefix: mounted)
    ledger.record(.get, status: 200, bytes: 1, of: ObjectKey(key))
    #expect(ledger.takeUnsaved().keys.map(\.prefix) == [ObjectKey(prefix)])
  }

  @Test func `prefixes of a day are bounded, the rest is counted together`() {
    let ledger = ledger()
    let many = Ledger.prefixLimit + 100
    for _ in 0..<2 {
      for number in 0..<many { ledger.record(.get, status: 200, bytes: 1, of: ObjectKey("p\(number)/x")) }
    }
    ledger.record(.get, status: 200, bytes: 1, of: ObjectKey("top"))
    let entries = ledger.takeUnsaved()
    #expect(entries.count == Ledger.prefixLimit + 2)
    #expect(entries.first { $0.key.prefix == LedgerEntry.rest }?.value.requests == 200)
    #expect(entries.values.reduce(0) { $0 + $1.requests } == 2 * many + 1)
    clock.advance(.seconds(1))
    ledger.record(.get, status: 200, bytes: 1, of: ObjectKey("p\(many - 1)/x"))
    #expect(ledger.takeUnsaved().keys.map(\.prefix) == [ObjectKey("p\(many - 1)/")])
  }

  @Test func `the prefixes of an earlier process keep their places`() {
    let first = ledger()
    for number in 0..<Ledger.prefixLimit { first.record(.get, status: 200, bytes: 1, of: ObjectKey("p\(number)/x")) }
    let second = ledger()
    second.resume(first.takeUnsaved())
    second.record(.get, status: 200, bytes: 1, of: ObjectKey("p7/y"))
    second.record(.get, status: 200, bytes: 1, of: ObjectKey("new/y"))
    #expect(Set(second.takeUnsaved().keys.map(\.prefix)) == [ObjectKey("p7/"), LedgerEntry.rest])
  }

  @Test func `tells once that there is something to save`() {
    let ledger = ledger()
    let calls = Mutex(0)
    ledger.whenUnsaved { calls.withLock { $0 += 1 } }
    #expect(calls.withLock { $0 } == 0)
    for _ in 0..<3 { ledger.record(.get, status: 200, bytes: 1) }
    #expect(calls.withLock { $0 } == 1)
    _ = ledger.takeUnsaved()
    ledger.record(.get, status: 200, bytes: 1)
    #expect(calls.withLock { $0 } == 2)
    ledger.whenUnsaved { calls.withLock { $0 += 10 } }
    #expect(calls.withLock { $0 } == 12)
  }

  @Test func `the last hour is measured, or what there was of it`() {
    let ledger = ledger()
    for _ in 0..<100 { ledger.record(.get, status: 200, bytes: 1) }
    clock.advance(.seconds(600))
    #expect(ledger.measured().recent.counts.total == 100 && ledger.measured().recent.span == .seconds(600))
    #expect(ledger.measured().all == ledger.measured().recent)
    for _ in 0..<200 {
      clock.advance(.seconds(60))
      ledger.record(.list, status: 200, bytes: 1)
    }
    let recent = ledger.measured().recent
    #expect(recent.counts.gets == 0 && recent.counts.lists == 60)
    #expect(recent.span > .seconds(59 * 60) && recent.span <= .seconds(3600))
    clock.advance(.seconds(3 * 3600))
    #expect(ledger.measured().recent.counts.total == 0)
    #expect(ledger.measured().all.counts.total == 300)
    #expect(ledger.measured().all.span == .seconds(600 + 200 * 60 + 3 * 3600))
  }

  @Test func `a rate makes a month`() {
    var counts = RequestCounts()
    for _ in 0..<10 { counts.add(.list, status: 200, bytes: 0) }
    let measured = MeasuredRequests(counts: counts, span: .seconds(600))
    #expect(measured.requests(in: .seconds(30 * 86400)) == 43_200)
    #expect(abs((measured.cost(of: .seconds(30 * 86400), Prices()) ?? 0) - 0.216) < 1e-9)
    #expect(MeasuredRequests(counts: counts, span: .zero).requests(in: .seconds(1)) == nil)
  }
}
