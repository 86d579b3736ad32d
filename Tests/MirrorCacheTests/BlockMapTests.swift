import Testing

@testable import MirrorCache

@Suite(.timeLimit(.minutes(1)))
struct BlockMapTests {
  @Test(arguments: [1, 2, 63, 64, 65, 128, 1000])
  func `a map agrees with a set whatever is put in and taken out`(count: Int) {
    var map = BlockMap(count: count)
    var set: Set<Int> = []
    var state: UInt64 = 88_172_645_463_325_252
    for _ in 0..<4000 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let block = Int(state >> 33) % count
      if state & 3 == 0 {
        let wasThere = set.remove(block) != nil
        let removed = map.remove(block)
        #expect(removed == wasThere)
      } else {
        let isNew = set.insert(block).inserted
        let inserted = map.insert(block)
        #expect(inserted == isNew)
      }
      #expect(map.present == set.count)
      #expect(map.contains(block) == set.contains(block))
    }
    for start in 0...count {
      #expect(map.firstAbsent(from: start) == (start..<count).first { !set.contains($0) })
    }
    #expect(BlockMap(bytes: map.bytes, count: count).map { $0.bytes } == map.bytes)
  }

  @Test func `a map of no blocks is full and empty`() {
    let map = BlockMap(count: 0)
    #expect(map.isFull && map.isEmpty && map.firstAbsent(from: 0) == nil && map.bytes.isEmpty)
  }

  @Test func `any size has its blocks, and none is negative`() {
    let end = BlockGeometry(size: .max)
    #expect(end.count == 1 << 46 && end.end(of: end.count - 1) == .max)
    #expect(end.bytes(in: BlockMap(count: end.count, full: true)) == .max)
    let next = BlockGeometry(size: Blob.blockSize + 1)
    #expect(next.count == 2 && next.end(of: 0) == Blob.blockSize && next.end(of: 1) == Blob.blockSize + 1)
    #expect(BlockMap(bytes: [], count: -1) == nil)
  }

  @Test func `a bitmap of the wrong length is refused`() {
    #expect(BlockMap(bytes: [0xFF], count: 9) == nil)
    #expect(BlockMap(bytes: [0xFF, 0xFF], count: 8) == nil)
  }

  @Test func `a full map becomes a map with a hole`() {
    var map = BlockMap(count: 65, full: true)
    let removed = map.remove(64)
    #expect(removed && map.firstAbsent(from: 0) == 64 && map.present == 64)
    let inserted = map.insert(64)
    #expect(inserted && map.isFull && map == BlockMap(count: 65, full: true))
  }
}
