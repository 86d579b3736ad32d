// How far beyond a read is fetched: little for who looks, much for who reads on.
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct ReadAheadTests {
  private static let size: Int64 = 10 << 30
  private static let part: Int64 = 8 << 20

  private func wanted(_ policy: inout ReadAheadPolicy, _ offset: Int64, _ count: Int64) -> Range<Int64> {
    policy.wanted(offset, offset + count, size: Self.size, wholeBelow: Self.part)
  }

  @Test(arguments: [16 << 10, 128 << 10, 1 << 20] as [Int64])
  func `who reads a few MiB has little fetched beyond, who reads on the whole window`(step: Int64) {
    var policy = ReadAheadPolicy()
    var reach: Int64 = 0
    for offset in stride(from: 0, to: 7 << 20, by: Int(step)) {
      let range = wanted(&policy, Int64(offset), step)
      #expect(range.lowerBound == offset)
      reach = max(reach, range.upperBound)
    }
    #expect(reach >= 8 << 20)
    #expect(reach <= 9 << 20)
    for offset in stride(from: 7 << 20, to: 64 << 20, by: Int(step)) {
      reach = max(reach, wanted(&policy, Int64(offset), step).upperBound)
    }
    #expect(reach == 128 << 20)
  }

  @Test func `what is read at random is fetched as asked`() {
    var policy = ReadAheadPolicy()
    var place: Int64 = 3
    for _ in 0..<500 {
      place = (place * 7919 + 104_729) % 65_521
      let offset = place * (160 << 10)
      #expect(wanted(&policy, offset, 128 << 10) == offset..<offset + (128 << 10))
    }
  }

  @Test func `readers of one file at several places each have a stream`() {
    var policy = ReadAheadPolicy()
    var reach: [Int64] = [0, 0, 0]
    for step in 0..<400 {
      for reader in 0..<3 {
        let offset = Int64(reader) << 30 + Int64(step) * (128 << 10)
        reach[reader] = wanted(&policy, offset, 128 << 10).upperBound - offset
      }
    }
    #expect(reach.allSatisfy { $0 >= 64 << 20 }, "\(reach)")
  }

  @Test func `a small file is wanted whole, and nothing beyond an end`() {
    var policy = ReadAheadPolicy()
    #expect(policy.wanted(4096, 8192, size: 1 << 20, wholeBelow: Self.part) == 0..<1 << 20)
    let end = Self.size - (64 << 10)
    _ = wanted(&policy, end - (64 << 10), 64 << 10)
    #expect(policy.wanted(end, Self.size, size: Self.size, wholeBelow: Self.part).upperBound == Self.size)
  }
}
