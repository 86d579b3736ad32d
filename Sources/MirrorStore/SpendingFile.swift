// What was spent, on disk: a restart must not begin a new hour, and a crash must not lose what it can't have saved.
import MirrorPlatform

/// The text of the file `spending`: times are wall clock, the ends of the slices.
///
/// `advance` is what the process may spend, until `advanceEnds`, before it saves again. An end in good order leaves
/// none; otherwise all of it counts as spent.
struct SavedSpending: Equatable {
  static let heading = "s3mirror spending 1"
  /// Requests or dollars of one line: more were never spent, and sums must end somewhere.
  private static let most = 1 << 40

  var record = SpendingRecord()
  var advance = Spend.nothing
  var advanceEnds = Instant.distantPast

  func bytes(_ now: Instant, _ wall: WallTime) -> [UInt8] {
    var text = Self.heading + "\n"
    func add(_ name: String, _ instant: Instant, _ spend: Spend) {
      let time = wall.milliseconds + (instant - now).nanosecondsClamped / 1_000_000
      let usd = min(max(0, spend.usd), Double(Self.most))
      text += "\(name) \(time) \(min(spend.requests, Self.most)) \(usd)\n"
    }
    for period in BudgetLimit.Period.allCases {
      for slice in record.slices(of: period) {
        // A slice under way is dated now: what it holds was spent by then.
        add(period.rawValue, min(Instant(nanoseconds: slice.end * SpendingRecord.width(period)), now), slice.spend)
      }
    }
    if advance == .nothing { text += "advance 0 0 0\n" } else { add("advance", advanceEnds, advance) }
    return Array(text.utf8)
  }

  /// Nil for what this did not write, or not to its end.
  init?(bytes: [UInt8], _ now: Instant, _ wall: WallTime) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    guard lines.first.map(String.init) == Self.heading, bytes.last == 0x0A else { return nil }
    var isWhole = false
    for line in lines.dropFirst() {
      let words = line.split(separator: " ")
      guard words.count == 4, let time = Int64(words[1]), let requests = Int(words[2]), let usd = Double(words[3]),
        (0...Self.most).contains(requests), (0...Double(Self.most)).contains(usd), !isWhole
      else { return nil }
      let spend = Spend(requests: requests, usd: usd)
      // Spent no later than now, whatever the clock said then.
      let spent = now + min(.zero, WallTime(milliseconds: time) - wall)
      if words[0] == "advance" {
        advance = spend
        advanceEnds = spent
        isWhole = true
      } else if let period = BudgetLimit.Period(rawValue: String(words[0])) {
        record.add(spend, at: spent, in: period)
      } else {
        return nil
      }
    }
    guard isWhole else { return nil }
  }

  init(record: SpendingRecord, advance: Spend, until advanceEnds: Instant) {
    self.record = record
    self.advance = advance
    self.advanceEnds = advanceEnds
  }
}

/// Where it lies; written whole, and on disk before anybody counts on it.
public struct SpendingFile: Sendable {
  let path: String
  public init(path: String) { self.path = path }

  func read() throws(Errno) -> [UInt8]? {
    do throws(Errno) { return try FileSystem.read(path) } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  func write(_ bytes: [UInt8]) throws(Errno) {
    let temporary = path + ".tmp"
    try FileSystem.removeFile(temporary)
    let file = try File.open(temporary, .write, create: 0o600)
    try file.write(bytes, at: 0)
    try file.synchronize()
    try FileSystem.rename(temporary, to: path)
    // A name is on disk once its directory is: a power cut would bring the older file back.
    guard let directory = FileSystem.parent(of: path) else { return }
    try File.open(directory, .read).synchronize()
  }
}
