// What a bucket held at every moment: which versions of which keys, from when until when.
import MirrorPlatform
import MirrorStore

/// The bucket as it was and is. A pure value; each change must have a moment of its own.
public struct BucketHistory: Sendable {
  public struct Version: Sendable {
    /// Counts from 1; also the seed of its bytes.
    public let number: Int
    public let key: [UInt8]
    public let size: Int
    public let cacheControl: String?
    /// When it was current, in order; the last may not have ended. More than one where it was brought back.
    public internal(set) var times: [(from: Instant, until: Instant?)]
    /// Last-Modified, and what copies onto itself made of it since.
    public internal(set) var modified: [Int64]

    public var tag: String { "\"tag-\(number)\"" }
    public var body: [UInt8] { BucketHistory.body(number, size) }
    public var firstFrom: Instant { times[0].from }
    /// When it was replaced or deleted, if it is not current.
    public var until: Instant? { times[times.count - 1].until }

    /// Whether it was current at some moment from `start` to `end`.
    public func wasCurrent(from start: Instant, to end: Instant) -> Bool {
      times.contains { $0.from <= end && $0.until.map { $0 >= start } ?? true }
    }

    public func isCurrent(at moment: Instant) -> Bool {
      times.contains { $0.from <= moment && $0.until.map { moment < $0 } ?? true }
    }

    /// Whether it was replaced or deleted between two moments.
    public func ended(from start: Instant, to end: Instant) -> Bool {
      times.contains { $0.until.map { $0 >= start && $0 <= end } ?? false }
    }
  }

  public private(set) var versions: [Version] = []
  private var ofKey: [[UInt8]: [Int]] = [:]
  /// The number of what was put or brought back last.
  private var latest: [[UInt8]: Int] = [:]

  public init() {}

  // MARK: Changes

  public mutating func put(_ key: [UInt8], size: Int, cacheControl: String? = nil, at now: Instant) {
    end(key, now)
    let number = versions.count + 1
    versions.append(
      Version(
        number: number, key: key, size: size, cacheControl: cacheControl, times: [(now, nil)],
        modified: [Int64(1_600_000_000 + number * 1000)]))
    ofKey[key, default: []].append(number)
    latest[key] = number
  }

  /// Brings back an earlier version, the bytes and the tag as they were: 0 is the newest that is not current.
  public mutating func restore(_ key: [UInt8], _ back: Int, at now: Instant) {
    let current = current(key)?.number
    let past = (ofKey[key] ?? []).filter { $0 != current }
    guard !past.isEmpty, let newest = ofKey[key]?.compactMap({ versions[$0 - 1].modified.last }).max() else { return }
    end(key, now)
    let number = past[past.count - 1 - back % past.count]
    versions[number - 1].times.append((now, nil))
    versions[number - 1].modified.append(newest + 1)
    latest[key] = number
  }

  /// The same bytes under the same tag with another date, as a copy onto itself makes it.
  public mutating func touch(_ key: [UInt8]) {
    guard let number = current(key)?.number, let last = versions[number - 1].modified.last else { return }
    versions[number - 1].modified.append(last + 1)
  }

  public mutating func delete(_ key: [UInt8], at now: Instant) { end(key, now) }

  private mutating func end(_ key: [UInt8], _ now: Instant) {
    guard let number = current(key)?.number else { return }
    versions[number - 1].times[versions[number - 1].times.count - 1].until = now
  }

  // MARK: What there is

  public func current(_ key: [UInt8]) -> Version? {
    latest[key].map { versions[$0 - 1] }.flatMap { $0.until == nil ? $0 : nil }
  }

  /// All current objects below a prefix, in key order.
  public func current(below prefix: [UInt8]) -> [Version] {
    ofKey.keys.filter { $0.starts(with: prefix) }.compactMap { current($0) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  // MARK: What there was

  public var keys: some Collection<[UInt8]> { ofKey.keys }

  public func versions(of key: [UInt8]) -> [Version] { (ofKey[key] ?? []).map { versions[$0 - 1] } }

  private func versions(below prefix: [UInt8]) -> [Version] { versions.filter { $0.key.starts(with: prefix) } }

  /// Whether there was an object of this name at some moment.
  public func hadFile(_ key: [UInt8], from start: Instant, to end: Instant) -> Bool {
    versions(of: key).contains { $0.wasCurrent(from: start, to: end) }
  }

  /// Whether something lay below `path/` at some moment.
  public func hadDirectory(_ path: [UInt8], from start: Instant, to end: Instant) -> Bool {
    versions(below: path + [0x2F]).contains { $0.wasCurrent(from: start, to: end) }
  }

  /// Whether an object was there all the time, be it overwritten.
  public func alwaysHad(_ key: [UInt8], from start: Instant, to end: Instant) -> Bool {
    var covered = start
    let times = versions(of: key).flatMap(\.times).sorted { $0.from < $1.from }
    for time in times where time.from <= covered {
      guard let until = time.until else { return true }
      if until > covered { covered = until }
    }
    return covered > end
  }

  /// Whether there was neither an object nor a directory of this name at some moment.
  public func lacked(_ path: [UInt8], from start: Instant, to end: Instant) -> Bool {
    let all = versions(of: path) + versions(below: path + [0x2F])
    let moments = [start] + all.flatMap(\.times).compactMap(\.until).filter { $0 >= start && $0 <= end }
    return moments.contains { moment in !all.contains { $0.isCurrent(at: moment) } }
  }

  // MARK: Bytes

  /// Random once and for all; its length is a prime, so that no two blocks of a body agree.
  private static let table: [UInt8] = {
    var random = SplitMix(seed: 5)
    return (0..<65_521).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }()

  /// The bytes of a version.
  public static func body(_ number: Int, _ size: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    var at = number * 7919 % table.count
    while bytes.count < size {
      let count = min(size - bytes.count, table.count - at)
      bytes += table[at..<(at + count)]
      at = 0
    }
    return bytes
  }
}

/// Numbers that look random and are the same for the same seed (Steele, Lea, Flood 2014).
public struct SplitMix: RandomNumberGenerator, Sendable {
  private var state: UInt64
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  public mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
}
