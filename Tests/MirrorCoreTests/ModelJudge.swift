// The reference: what a look-up may be told, given what the bucket held, what was asked, and what failed.
import MirrorPlatform
import MirrorStore
import TestSupport

/// Something asked of the mount.
struct ModelOperation: Sendable {
  let words: String
  /// The key of a file, or of a directory without its `/`.
  let key: [UInt8]
  let started: Instant
  /// Nothing may be asked for it: an earlier answer is still good.
  let isPromised: Bool
  let wasOffline: Bool
  /// Somebody had waited in vain for an answer.
  let wasLate: Bool
  let sent: Int
}

struct ModelVerdict: Error { let message: String }

/// What is known of answers given and received. It judges; it never asks.
struct ModelJudge {
  /// A validation counts for so long after its answer, whatever the window.
  private static let grace = Duration.milliseconds(100)
  /// A reader waits so long before a stale answer is given.
  private static let patience = Duration.milliseconds(3_900)
  /// For so long a read that nobody answered in time fails at once, whoever asks again.
  private static let unanswered = Duration.milliseconds(1_002)

  let settings: ModelSettings
  /// Stamps on the disk are whole milliseconds.
  var slack = Duration.milliseconds(102)
  /// Steps back of the wall clock, which a restart can't tell from time that has not passed.
  var stepped = Duration.zero

  /// Until when names need not be asked for.
  var promised: [[UInt8]: Instant] = [:]
  /// The version that was last shown under a name, and when.
  var shown: [[UInt8]: (number: Int, at: Instant)] = [:]
  /// When an answer last told of a version, and that there is no such name.
  private var told: [Int: Instant] = [:]
  private var toldAbsent: [[UInt8]: Instant] = [:]
  /// Versions whose own answers came in this life of the process, and when: what they say for themselves is known.
  private var described: [Int: Instant] = [:]
  private var hasRestarted = false
  /// When a name was marked as stale.
  private var disturbed: [[UInt8]: Instant] = [:]
  /// The same for all names below a path, those that nobody knows too.
  private var refreshed: [[UInt8]: Instant] = [:]
  /// When failures came, and for what.
  private var failures: [(at: Instant, asked: Asked, code: StoreError.Code)] = []
  private var lastOffline = Instant.distantPast
  private var lastLate = Instant.distantPast
  /// A complete listing showed what there was since then.
  var listedSince: [[UInt8]: Instant] = [:]
  /// Files that were read to their ends and have not been heard of since.
  private(set) var kept: [[UInt8]: Int] = [:]

  init(settings: ModelSettings) { self.settings = settings }

  // MARK: What it is told

  mutating func heard(_ news: [Asked], _ history: BucketHistory) {
    for asked in news {
      let now = asked.delivered ?? asked.sent
      switch asked.outcome {
      case .version(let number):
        told[number] = now
        if described[number] == nil { described[number] = now }
        if kept[asked.key] != number { kept[asked.key] = nil }
        if shown[asked.key]?.number != number || isOwn(asked.key) { promised[asked.key] = nil }
      case .same(let number):
        told[number] = now
        if described[number] == nil { described[number] = now }
        if isOwn(asked.key) { promised[asked.key] = nil }
      case .missing:
        toldAbsent[asked.key] = now
        kept[asked.key] = nil
        promised[asked.key] = nil
      case .refused:
        promised[asked.key] = nil
        disturbed[asked.key] = now
        kept[asked.key] = nil
      case .failed(let code): failures.append((now, asked, code))
      case .page(let keys, let after, let end):
        for number in keys.values where number > 0 { told[number] = now }
        let prefixes = keys.keys
        let groups = keys.filter { $0.value == 0 }.keys
        for name in Set(promised.keys).union(kept.keys).union(shown.keys) where asked.tells(of: name) {
          let isCovered =
            after.lexicographicallyPrecedes(name) && (end.map { !$0.lexicographicallyPrecedes(name) } ?? true)
            && !groups.contains { name.starts(with: $0) }
          if let number = keys[name] {
            if kept[name] != number { kept[name] = nil }
            if shown[name]?.number != number {
              promised[name] = nil
              // Of what comes back a listing says nothing more than of what is new.
              described[number] = nil
            }
          } else if isCovered {
            toldAbsent[name] = now
            promised[name] = nil
            kept[name] = nil
          }
          // A directory came to light.
          if prefixes.contains(where: { $0.starts(with: name + [0x2F]) }) {
            promised[name] = nil
            kept[name] = nil
          }
        }
        // Absences that end.
        for name in keys.keys { if shown[name] == nil { promised[name] = nil } }
      case nil: break
      }
    }
    if failures.count > 100 { failures.removeFirst(50) }
  }

  mutating func noteOffline(_ now: Instant) { lastOffline = now }
  mutating func noteLate(_ now: Instant) { lastLate = now }

  mutating func refreshed(_ path: [UInt8], _ now: Instant) {
    for name in Set(promised.keys).union(shown.keys)
    where path.isEmpty || name == path || name.starts(with: path + [0x2F]) {
      promised[name] = nil
    }
    refreshed[path] = now
    listedSince = [:]
  }

  private func wasDisturbed(_ key: [UInt8]) -> Instant? {
    let all = refreshed.filter { $0.key.isEmpty || key == $0.key || key.starts(with: $0.key + [0x2F]) }
    return (all.map(\.value) + [disturbed[key]].compactMap(\.self)).max()
  }

  mutating func disturb(_ key: [UInt8], _ now: Instant) {
    promised[key] = nil
    disturbed[key] = now
  }

  mutating func evicted() { kept = [:] }

  mutating func ended(cleanly: Bool, steppedBack: Duration) {
    hasRestarted = true
    promised = [:]
    described = [:]
    failures = []
    (lastOffline, lastLate) = (.distantPast, .distantPast)
    stepped = steppedBack
    guard !cleanly else { return }
    (shown, kept, listedSince) = ([:], [:], [:])
  }

  // MARK: Lifetimes

  private func isOwn(_ key: [UInt8]) -> Bool { settings.origin && key.suffix(2).elementsEqual([0x2E, 0x6F]) }

  /// The longest that a version may be used.
  func window(_ key: [UInt8], _ version: BucketHistory.Version?, isDescribed: Bool) -> Duration {
    if isOwn(key) {
      let usual = Duration.milliseconds(settings.window)
      guard let version, let said = version.cacheControl else { return version == nil ? .seconds(100) + usual : usual }
      let stated = Self.lifetime(said)
      return isDescribed ? stated : max(stated, usual)
    }
    if let inner = settings.inner, key.starts(with: Array("d/".utf8)) { return .milliseconds(inner) }
    return .milliseconds(settings.window)
  }

  private static func lifetime(_ said: String) -> Duration {
    guard said.hasPrefix("max-age="), let seconds = Int(said.dropFirst(8).prefix { $0.isNumber }) else { return .zero }
    return .seconds(seconds)
  }

  func listingWindow(_ directory: [UInt8]) -> Duration {
    .milliseconds(max(settings.window, settings.inner ?? 0))
  }

  // MARK: Bounds

  private func wasMoments(_ asked: Asked, _ operation: ModelOperation) -> Bool {
    asked.delivered.map { $0 >= operation.started + (.zero - Self.grace) } ?? false
  }

  /// What an answer tells must have been so at some moment since then: it is as old as the window, or as the question
  /// that brought it.
  func bound(_ operation: ModelOperation, _ window: Duration, _ recent: [Asked]) -> Instant {
    var bound = operation.started + (.zero - window)
    for asked in recent where asked.tells(of: operation.key) && wasMoments(asked, operation) {
      bound = min(bound, asked.first)
    }
    return bound + (.zero - slack - stepped)
  }

  /// Whether an answer may be older than that: the origin could not be asked, or not in time.
  func mayBeStale(_ operation: ModelOperation, _ now: Instant, _ recent: [Asked]) -> Bool {
    if operation.wasOffline || operation.wasLate || lastOffline >= operation.started { return true }
    if failed(operation, since: operation.started + (.zero - Self.grace), { $0 != .accessDenied }) { return true }
    return recent.contains {
      // Whoever comes while an answer is overdue is not made to wait for it.
      $0.tells(of: operation.key) && ($0.sent <= now + (.zero - Self.patience) || $0.sent <= lastLate)
        && ($0.delivered.map { $0 >= operation.started } ?? true)
    }
  }

  private func failed(
    _ operation: ModelOperation, since moment: Instant, _ isMeant: (StoreError.Code) -> Bool
  ) -> Bool {
    failures.contains { $0.at >= moment && $0.asked.tells(of: operation.key) && isMeant($0.code) }
  }

  /// An errno must have its cause.
  func check(
    _ errno: Errno, _ operation: ModelOperation, _ now: Instant, isRead: Bool = false
  ) throws(ModelVerdict) {
    let since = operation.started + (.zero - (isRead ? Self.unanswered : Self.grace))
    let wasOffline = operation.wasOffline || lastOffline >= since
    switch errno {
    case .inputOutput
    where wasOffline || failed(operation, since: since, { $0 != .accessDenied && $0 != .credentials }):
      return
    case .accessDenied
    where wasOffline || failed(operation, since: since, { $0 == .accessDenied || $0 == .credentials }):
      return
    default: throw ModelVerdict(message: "failed with \(errno), and nothing had failed")
    }
  }

  // MARK: Files

  /// A name led to a version of a file.
  mutating func found(
    _ number: Int, size: Int64, timeout: Duration, state: String?, _ operation: ModelOperation, _ now: Instant,
    _ history: BucketHistory, _ recent: [Asked], isListing: Bool = false
  ) throws(ModelVerdict) {
    guard number > 0, number <= history.versions.count else { throw ModelVerdict(message: "no such version") }
    let version = history.versions[number - 1]
    guard version.key == operation.key else { throw ModelVerdict(message: "that is version \(number), of another key") }
    guard size == version.size else { throw ModelVerdict(message: "size \(size) in place of \(version.size)") }
    // A listing told of it in its own time, and of answers that came with it the kernel hears afterwards.
    let isDescribed = described[number].map { isListing ? $0 < now : true } ?? false
    let window = window(operation.key, version, isDescribed: isDescribed)
    let newest = min(version.until ?? now, now)
    let shownFor = isListing ? max(window, listingWindow(operation.key)) : window
    let bound = bound(operation, shownFor, recent)
    let isRight = version.wasCurrent(from: bound, to: now)
    if !isRight {
      let isRevalidated =
        settings.revalidate.map { newest + window + .milliseconds($0) + slack + stepped >= operation.started } ?? false
      guard isRevalidated || mayBeStale(operation, now, recent) else {
        throw ModelVerdict(
          message: "version \(number) was replaced \(now - newest) ago, which is beyond its window of \(window)")
      }
      if let bound = settings.staleIfError, !isRevalidated,
        newest + shownFor + .milliseconds(bound) + slack + stepped < now
      {
        throw ModelVerdict(message: "version \(number) is served beyond stale-if-error")
      }
      let said = version.cacheControl ?? ""
      // A listing tells of it; whoever opens it asks.
      if !isListing, isDescribed, isOwn(operation.key),
        said.contains("must-revalidate") || said == "no-cache"
      {
        throw ModelVerdict(message: "version \(number) may not be served stale: \(said)")
      }
      if state == "fresh" { throw ModelVerdict(message: "version \(number) is stale and called fresh") }
    }
    if timeout > .zero, now + timeout > newest + window + slack + stepped {
      throw ModelVerdict(message: "version \(number) may be used for \(timeout) more: beyond its window of \(window)")
    }
    if let last = shown[operation.key], last.number > number, operation.started > last.at,
      (told[number] ?? .distantPast) < last.at
    {
      throw ModelVerdict(message: "version \(number) comes back after \(last.number) was shown")
    }
    shown[operation.key] = (number, now)
    guard !isListing else { return }
    try checkTimeout(number, timeout, window, operation, now, recent)
    // After a restart what nobody has described yet may be taken for a copy of unknown headers, and asked for sooner.
    let isFirm = isDescribed || !hasRestarted || !isOwn(operation.key)
    promised[operation.key] = isFirm && timeout > .zero ? now + timeout : nil
  }

  /// A validation counts from when it was asked for, and for its whole window.
  private func checkTimeout(
    _ number: Int, _ timeout: Duration, _ window: Duration, _ operation: ModelOperation, _ now: Instant,
    _ recent: [Asked]
  ) throws(ModelVerdict) {
    for asked in recent where asked.kind != .list && asked.key == operation.key {
      guard let delivered = asked.delivered, delivered >= operation.started, delivered <= now else { continue }
      switch asked.outcome {
      case .version(number)?, .same(number)?: break
      default: continue
      }
      // What somebody had marked as stale only an answer for the name itself makes fresh.
      if let when = wasDisturbed(operation.key), asked.isRead || when >= asked.sent { continue }
      let least = min(asked.sent + window - now, .seconds(600))
      if timeout + .milliseconds(2) < least {
        throw ModelVerdict(message: "validated just now, and to be used for \(timeout) in place of \(least)")
      }
    }
  }

  // MARK: Names that are not there

  mutating func absent(
    timeout: Duration, _ operation: ModelOperation, _ now: Instant, _ history: BucketHistory, _ recent: [Asked]
  ) throws(ModelVerdict) {
    let parent = operation.key.lastIndex(of: 0x2F).map { Array(operation.key[..<$0]) } ?? []
    let window = listingWindow(parent) + .milliseconds(settings.negative)
    var bound = bound(operation, window, recent)
    // It is remembered from when the answer came.
    let remembered = operation.started + (.zero - .milliseconds(settings.negative) - slack)
    for asked in recent where asked.tells(of: operation.key) && asked.delivered.map({ $0 >= remembered }) ?? false {
      bound = min(bound, asked.first + (.zero - slack))
    }
    if let last = shown[operation.key], operation.started > last.at,
      (toldAbsent[operation.key] ?? .distantPast) < last.at, last.number <= history.versions.count
    {
      bound = max(bound, history.versions[last.number - 1].firstFrom)
    }
    // Where a file was a 404 is an absence for those who ask with it: a directory in its place shows to the next.
    let since = operation.started + (.zero - Self.grace - .milliseconds(2))
    let isMissing = recent.contains { asked in
      guard case .missing? = asked.outcome, asked.kind != .list, asked.key == operation.key else { return false }
      return asked.delivered.map { $0 >= since } ?? false
    }
    guard isMissing || history.lacked(operation.key, from: bound, to: now) else {
      throw ModelVerdict(message: "absent, though it was there all the time")
    }
    if timeout > .milliseconds(settings.negative) + slack {
      throw ModelVerdict(message: "absent for \(timeout), which is too long")
    }
    shown[operation.key] = nil
    promised[operation.key] = timeout > .zero ? now + timeout : nil
  }

  // MARK: Copies

  /// All of a version was read.
  mutating func read(_ number: Int, _ key: [UInt8]) {
    guard let shown = shown[key], shown.number == number, (toldAbsent[key] ?? .distantPast) < shown.at else { return }
    kept[key] = number
  }

  /// A failure costs no copy.
  func checkKept(_ operation: ModelOperation, _ down: StoreError.Code?) throws(ModelVerdict) {
    guard let number = kept[operation.key], let down, down != .accessDenied, settings.staleIfError == nil,
      settings.limit == 1 << 30, !isOwn(operation.key)
    else { return }
    throw ModelVerdict(message: "version \(number) had been read to its end, and is lost by a failure")
  }
}
