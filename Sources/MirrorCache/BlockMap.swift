// Which blocks of a blob there are: a set of small numbers that costs nothing while it is full or empty.
import MirrorPlatform

/// A subset of `0..<count`.
struct BlockMap: Equatable, Sendable {
  let count: Int
  private(set) var present: Int
  /// Empty while all or none are present.
  private var words: [UInt64] = []

  init(count: Int, full: Bool = false) {
    self.count = count
    present = full ? count : 0
  }

  var isFull: Bool { present == count }
  var isEmpty: Bool { present == 0 }

  func contains(_ block: Int) -> Bool {
    if words.isEmpty { return present > 0 && isFull }
    return words[block >> 6] & (1 << UInt64(block & 63)) != 0
  }

  /// False when it was present already.
  mutating func insert(_ block: Int) -> Bool {
    if contains(block) { return false }
    spread()
    words[block >> 6] |= 1 << UInt64(block & 63)
    present += 1
    if isFull { words = [] }
    return true
  }

  /// False when it was absent already.
  mutating func remove(_ block: Int) -> Bool {
    guard contains(block) else { return false }
    spread()
    words[block >> 6] &= ~(1 << UInt64(block & 63))
    present -= 1
    if isEmpty { words = [] }
    return true
  }

  private mutating func spread() {
    guard words.isEmpty else { return }
    words = [UInt64](repeating: isFull && present > 0 ? .max : 0, count: (count + 63) / 64)
    if isFull && present > 0, count & 63 != 0 { words[words.count - 1] = (1 << UInt64(count & 63)) - 1 }
  }

  /// The first absent block at or after `start`; nil when there is none.
  func firstAbsent(from start: Int) -> Int? {
    guard start < count, !isFull else { return nil }
    guard !words.isEmpty else { return start }
    var block = start
    while block < count {
      let rest = ~words[block >> 6] >> UInt64(block & 63)
      if rest != 0 {
        let found = block + rest.trailingZeroBitCount
        return found < count ? found : nil
      }
      block = (block | 63) + 1
    }
    return nil
  }

  /// One bit a block, the lowest first.
  var bytes: [UInt8] {
    (0..<(count + 7) / 8).map { byte in
      (0..<8).reduce(0) { value, bit in
        let block = byte * 8 + bit
        return block < count && contains(block) ? value | 1 << UInt8(bit) : value
      }
    }
  }

  /// From what `bytes` gave; nil where the length is another.
  init?(bytes: [UInt8], count: Int) {
    guard count >= 0, bytes.count == (count + 7) / 8 else { return nil }
    self.init(count: count)
    for block in 0..<count where bytes[block >> 3] & (1 << UInt8(block & 7)) != 0 { _ = insert(block) }
  }
}

/// How an object of a size divides into blocks.
struct BlockGeometry: Sendable {
  let size: Int64
  init(size: Int64) { self.size = size }

  var count: Int { Int(size / Blob.blockSize) + (size % Blob.blockSize > 0 ? 1 : 0) }
  func block(at offset: Int64) -> Int { Int(offset / Blob.blockSize) }
  func start(of block: Int) -> Int64 { Int64(block) * Blob.blockSize }
  /// The end of a block, cut at the end of the object.
  func end(of block: Int) -> Int64 { size - start(of: block) > Blob.blockSize ? start(of: block + 1) : size }

  /// The blocks that a range touches.
  func blocks(of range: Range<Int64>) -> Range<Int> {
    range.isEmpty ? 0..<0 : block(at: range.lowerBound)..<block(at: range.upperBound - 1) + 1
  }

  /// The bytes of all blocks that are present.
  func bytes(in map: BlockMap) -> Int64 {
    guard map.present > 0 else { return 0 }
    if map.isFull { return size }
    let whole = Int64(map.present) * Blob.blockSize
    let last = count - 1
    return map.contains(last) ? whole - Blob.blockSize + (size - start(of: last)) : whole
  }
}

/// What so many bytes of one file take on disk: whole pages of 4 KiB.
func diskBytes(_ bytes: Int64) -> Int64 { (bytes + 4095) & ~4095 }
