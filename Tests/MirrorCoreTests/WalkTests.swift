// Small files fetched ahead of whoever reads them in order: soon, and hardly ever in vain.
import TestSupport
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct WalkTests {
  /// A directory of so many files of one size, none of them here.
  private func candidate(_ slot: Int, _ size: Int64 = 1000) -> WalkPolicy.Candidate {
    WalkPolicy.Candidate(file: FileID(0, slot), size: size)
  }
  private func read(_ slot: Int, of count: Int, _ policy: inout WalkPolicy, size: Int64 = 1000) -> [Int] {
    policy.read(candidate(slot, size)) { after in
      Int(after.slot) + 1 < count ? candidate(Int(after.slot) + 1, size) : nil
    }.map { Int($0.file.slot) }
  }

  @Test func `a walk is led by an eighth of its length, and each file is fetched once, in order`() {
    var policy = WalkPolicy()
    var fetched: [Int] = []
    for slot in 0..<1000 {
      fetched += read(slot, of: 1000, &policy)
      let lead = fetched.count { $0 > slot }
      #expect(lead <= min(WalkPolicy.largestLead, (slot + 1) / WalkPolicy.share))
      if slot > 300, slot < 960 { #expect(lead == WalkPolicy.largestLead) }
    }
    #expect(fetched == fetched.sorted())
    #expect(Set(fetched).count == fetched.count)
    #expect(fetched.last == 999)
  }

  @Test func `a walk that ends early has fetched an eighth in vain at most`() {
    for end in [1, 7, 8, 40, 200, 500] {
      var policy = WalkPolicy()
      var fetched: Set<Int> = []
      for slot in 0..<end { fetched.formUnion(read(slot, of: 10_000, &policy)) }
      #expect(fetched.count { $0 >= end } <= end / WalkPolicy.share)
    }
  }

  @Test func `what is passed over counts against the walk for good`() {
    var policy = WalkPolicy()
    var fetched: Set<Int> = []
    // Every other file: half of what is fetched ahead would be in vain.
    var asked: Set<Int> = []
    for slot in stride(from: 0, to: 4000, by: 2) {
      fetched.formUnion(read(slot, of: 10_000, &policy))
      asked.insert(slot)
    }
    #expect(fetched.subtracting(asked).count { $0 < 4000 } <= asked.count / WalkPolicy.share)
  }

  @Test func `files in no order lead nowhere`() {
    var policy = WalkPolicy()
    var place = 1
    for _ in 0..<2000 {
      place = (place * 7919 + 104_729) % 99_991
      #expect(read(place, of: 100_000, &policy).isEmpty)
    }
  }

  @Test func `readers in parallel, each a little out of order, are one walk`() {
    var policy = WalkPolicy()
    var fetched: Set<Int> = []
    for group in 0..<60 {
      for step in [5, 0, 15, 3, 9, 1, 12, 7, 2, 14, 4, 8, 6, 13, 10, 11] {
        fetched.formUnion(read(group * 16 + step, of: 960, &policy))
      }
    }
    #expect(fetched.count > 700)
  }

  @Test func `bytes are bounded like files`() {
    var policy = WalkPolicy()
    var lead: Set<Int> = []
    for slot in 0..<300 {
      lead.formUnion(read(slot, of: 1000, &policy, size: 4 << 20))
      lead.remove(slot)
      #expect(Int64(lead.count) * (4 << 20) <= WalkPolicy.largestLeadBytes)
    }
  }

  @Test func `a directory read in order costs one request a file, across directories too`() async throws {
    let fixture = try MirrorFixture()
    let names = (0..<300).map { "d/\($0 / 100)/f\(1000 + $0)" }
    for name in names { fixture.store.put(name, name) }
    #expect(await fixture.list("d") == .success(["0", "1", "2"]))
    _ = fixture.store.takeLog()
    for name in names.prefix(80) { #expect(await fixture.read(name) == name) }
    #expect(await eventually { fixture.store.asked("get") == 90 })
    for name in names.dropFirst(80) { #expect(await fixture.read(name) == name) }
    let log = fixture.store.takeLog()
    #expect(log.count { $0.hasPrefix("get") } == 300, "\(log)")
    #expect(Set(log).count == log.count, "nothing was asked for twice")
    await fixture.close()
  }

  @Test func `a failure ends what is fetched ahead, and the reader hears of his own only`() async throws {
    let fixture = try MirrorFixture()
    let names = (0..<100).map { "d/f\(1000 + $0)" }
    for name in names { fixture.store.put(name, name) }
    #expect(await fixture.list("d").map(\.count) == .success(100))
    for name in names.prefix(20) { #expect(await fixture.read(name) == name) }
    fixture.store.delete(names[22])
    fixture.store.delete(names[23])
    for name in names.prefix(22) { #expect(await fixture.read(name) == name) }
    for name in names.dropFirst(24) { #expect(await fixture.read(name) == name) }
    await fixture.close()
  }
}
