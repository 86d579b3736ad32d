// Whoever reads small files in the order of a listing will read the next ones: how many are fetched before he asks.

/// A pure value: reads in, files worth fetching out.
struct WalkPolicy {
  /// Walks followed at one time.
  static let most = 4
  /// Files fetched and not yet read, and their bytes, of one walk.
  static let largestLead = 32
  static let largestLeadBytes: Int64 = 16 << 20
  /// The lead is at most such a part of what the walk has read, so that a walk that ends early has cost so much more
  /// at most, in requests and in bytes.
  static let share = 8
  /// Readers in parallel come out of order by about so many files.
  static let slack = 24

  /// A file that comes next in the order and is not here yet.
  struct Candidate: Equatable {
    let file: FileID
    let size: Int64
  }

  fileprivate struct Walk {
    /// What is expected next, in order.
    var upcoming: [Candidate] = []
    /// Of these, what was asked for ahead of its reader; and what he passed over for good, which counts against the walk.
    var ahead: [FileID: Int64] = [:]
    /// What was read in order, of what was not here before.
    var files = 0
    var bytes: Int64 = 0
    /// Where the order was last followed to.
    var end: FileID
  }
  private var walks: [Walk] = []

  /// Whether a read of what is here already may be one that was fetched ahead.
  func isAhead(_ file: FileID) -> Bool { walks.contains { $0.ahead[file] != nil } }

  /// A file that was not here, or was fetched ahead, is read from its beginning; `next` follows the order. Returns what
  /// to fetch now.
  mutating func read(_ read: Candidate, next: (FileID) -> Candidate?) -> [Candidate] {
    for index in walks.indices { walks[index].ahead[read.file] = nil }
    var walk: Walk
    if let index = walks.lastIndex(where: { walk in walk.upcoming.contains { $0.file == read.file } }) {
      walk = walks.remove(at: index)
      walk.upcoming.removeAll { $0.file == read.file }
    } else {
      walk = Walk(end: read.file)
      if walks.count == Self.most { walks.removeFirst() }
    }
    walk.files += 1
    walk.bytes += read.size
    walk.follow(next)
    let wanted = walk.take()
    walks.append(walk)
    return wanted
  }

  /// What was fetched ahead could not be had: better wait for who asks.
  mutating func stop() { walks = [] }
}

extension WalkPolicy.Walk {
  private var lead: Int { min(WalkPolicy.largestLead, files / WalkPolicy.share) }

  fileprivate mutating func follow(_ next: (FileID) -> WalkPolicy.Candidate?) {
    while upcoming.count < lead + WalkPolicy.slack, let candidate = next(end) {
      upcoming.append(candidate)
      end = candidate.file
    }
    let excess = upcoming.count - WalkPolicy.largestLead - 2 * WalkPolicy.slack
    if excess > 0 { upcoming.removeFirst(excess) }
  }

  fileprivate mutating func take() -> [WalkPolicy.Candidate] {
    var taken: [WalkPolicy.Candidate] = []
    var leadBytes = ahead.values.reduce(0, +)
    for candidate in upcoming where ahead[candidate.file] == nil {
      leadBytes += candidate.size
      guard ahead.count < lead, leadBytes <= min(WalkPolicy.largestLeadBytes, bytes / Int64(WalkPolicy.share)) else {
        break
      }
      ahead[candidate.file] = candidate.size
      taken.append(candidate)
    }
    return taken
  }
}
