// What each cell of the fault matrix may show, and for how long: decided from README.md, s3mirror(7) and
// ARCHITECTURE.md, not from what happens to come out.
import Glibc
import MirrorPlatform

/// How an act ended.
enum FaultOutcome: Hashable, Sendable, CustomStringConvertible {
  /// All bytes, names or attributes as they are in the bucket, or as they were before the fault.
  case right
  case failed(Errno)
  /// A command's exit code, of one that failed.
  case exit(Int32)
  /// Bytes that are neither.
  case wrong(String)

  var description: String {
    switch self {
    case .right: "right"
    case .failed(let errno): "\(errno)"
    case .exit(let code): "exit code \(code)"
    case .wrong(let text): "WRONG: \(text)"
    }
  }
}

/// What is allowed in one cell.
struct FaultExpectation: Sendable {
  var allowed: Set<FaultOutcome>
  /// Whoever asks has an answer within this.
  var within: Duration
  /// The fault taken away, all is right again within this, without a remount where one was left.
  var recovery: Duration
  /// Why nothing is to be seen of the fault, where it can't reach the phase.
  var note: String?
  /// Bytes that nothing proves are shown as they come (s3mirror(7), Checksums).
  var showsAsSent = false

  static let coldDeadline = Duration.seconds(30)
  private static let failing: Set<FaultOutcome> = [.right, .failed(.inputOutput)]

  static func of(_ kind: FaultKind, _ phase: FaultPhase) -> FaultExpectation {
    var expected = FaultExpectation(allowed: [.right], within: within(kind, phase), recovery: recovery(kind))
    switch kind.nature {
    case .hidden: break
    case .outage: outage(kind, phase, &expected)
    case .brokenBody: brokenBody(kind, phase, &expected)
    case .denied, .gone, .senseless: refusal(kind, phase, &expected)
    case .disk: disk(kind, phase, &expected)
    case .process: process(kind, phase, &expected)
    }
    if kind.isAtServer, phase.isLocal { expected.note = "sends nothing" }
    return expected
  }

  /// README, Without the server: a reader of a cached file waits 4 s at most. ARCHITECTURE.md, Decisions: 25 s to an
  /// answer's head, a mount starts after 4 s from what is known and fails after 10 s.
  private static func within(_ kind: FaultKind, _ phase: FaultPhase) -> Duration {
    switch phase {
    case .mount: .seconds(12)
    case .remount: .seconds(8)
    case .validation: kind.nature == .outage ? .seconds(5) : coldDeadline
    case .warm: kind == .stopped ? .seconds(4) : .seconds(2)
    case .verify, .unmount: .seconds(10)
    // Bodies that end too soon are resumed, three times without progress.
    default: kind == .stallInBody ? coldDeadline * 2 : coldDeadline
    }
  }

  /// The server is probed every 5 s at least, each time for up to 5 s; other things are tried again within a second.
  private static func recovery(_ kind: FaultKind) -> Duration { .seconds(12) }

  /// README: cached files and listings go on being served; what was never read is EIO, never ENOENT.
  private static func outage(_ kind: FaultKind, _ phase: FaultPhase, _ expected: inout FaultExpectation) {
    switch phase {
    case .mount:
      // s3mirror(1), EXIT STATUS: 6, the server can't be reached or does not answer as one.
      expected.allowed = kind == .stallInBody ? [.right, .exit(6)] : [.right, .exit(6)]
    case .firstLook, .listFirst, .listMiddle, .listLast, .coldFirst, .coldMiddle, .coldLast, .eviction:
      expected.allowed = failing
    case .validation, .warm, .verify, .unmount, .remount: break
    }
  }

  /// s3mirror(7), Checksums and Errors: damaged bytes are thrown away and asked for again, then EIO; a body of another
  /// revision is ESTALE.
  private static func brokenBody(_ kind: FaultKind, _ phase: FaultPhase, _ expected: inout FaultExpectation) {
    let meetsListings = [.stallInBody, .resetInBody, .truncated, .lengthShort, .lengthLong].contains(kind)
    switch phase {
    case .mount, .firstLook, .listFirst, .listMiddle, .listLast, .remount:
      guard meetsListings else {
        expected.note = "listings have no such thing"
        return
      }
      if phase != .remount { expected.allowed = phase == .mount ? [.right, .exit(6)] : failing }
    case .validation:
      // While a changed body breaks off there is no copy of it, and the old one is no longer current.
      expected.allowed = failing
      if [.otherTag, .lengthShort, .lengthLong].contains(kind) { expected.allowed.insert(.failed(.stale)) }
    case .coldFirst, .coldMiddle, .coldLast, .eviction:
      expected.allowed = failing
      if [.otherTag, .lengthShort, .lengthLong, .wrongContentRange].contains(kind) {
        expected.allowed.insert(.failed(.stale))
      }
      expected.showsAsSent = kind == .corruptedByte && phase.isCold
    case .warm, .verify, .unmount: break
    }
  }

  /// README: definite answers are obeyed, an object that is gone is ENOENT and one that may not be read is EACCES; of
  /// others nothing is believed.
  private static func refusal(_ kind: FaultKind, _ phase: FaultPhase, _ expected: inout FaultExpectation) {
    switch (kind.nature, phase) {
    case (_, .warm), (_, .verify), (_, .unmount): break
    case (.denied, .mount): expected.allowed = [.exit(5)]
    // Nothing may have to be asked.
    case (.denied, .remount): expected.allowed = [.right, .exit(5)]
    case (.denied, _): expected.allowed = [.failed(.accessDenied)]
    // Said of a listing, 404 is about the bucket.
    case (.gone, .mount): expected.allowed = [.exit(4)]
    case (.gone, .remount): expected.allowed = [.right, .exit(4)]
    // The listing goes on to have it: whoever looks twice finds the name, and what it led to is gone.
    case (.gone, .validation): expected.allowed = [.failed(.noEntry), .failed(.stale)]
    case (.gone, .coldFirst), (.gone, .coldMiddle), (.gone, .coldLast), (.gone, .eviction):
      expected.allowed = [.failed(.stale), .failed(.noEntry)]
    // 6 where it is no answer of S3's, 1 where it is one that makes no sense.
    case (_, .mount): expected.allowed = [.exit(6), .exit(1)]
    case (_, .remount): break
    case (_, .validation): break
    case (_, .coldFirst), (_, .coldMiddle), (_, .coldLast), (_, .eviction):
      // 412 and 416 say that it is another object by now.
      let isOther = kind == .status(412, told: true) || kind == .status(412, told: false)
      let isShorter = kind == .status(416, told: true) || kind == .status(416, told: false)
      expected.allowed = [.failed(.inputOutput)]
      if isOther || isShorter { expected.allowed.insert(.failed(.stale)) }
    default: expected.allowed = failing
    }
  }

  /// s3mirror(7), The cache: where there is no room files are read straight through, and the cache can be lost at any
  /// time, which costs requests and nothing else. What can't be read from the disk may be EIO while that lasts.
  private static func disk(_ kind: FaultKind, _ phase: FaultPhase, _ expected: inout FaultExpectation) {
    let unusable: Set<FaultOutcome> = [.right, .exit(7)]
    switch phase {
    case .mount, .remount:
      // s3mirror(1), EXIT STATUS: 7, the cache can't be used.
      expected.allowed = unusable
      if kind == .catalogueCorrupted || kind == .cacheDeleted || kind == .cacheSwapped { expected.allowed = [.right] }
      if kind == .catalogueNewer { expected.allowed = [.exit(7)] }
    case .warm, .validation, .coldFirst, .coldMiddle, .coldLast, .eviction:
      if kind == .blobReadError || kind == .cacheDeleted || kind == .cacheSwapped {
        expected.allowed = [.right, .failed(.inputOutput)]
      }
    case .verify:
      // What is not there or can't be read is no success.
      expected.allowed = [.right, .exit(1), .exit(7), .exit(9)]
      // Copies that went while the catalogue took no changes are still in it, and missing.
      if [.diskFull, .quota, .noInodes].contains(kind) { expected.allowed = [.right, .exit(9)] }
      if kind == .blobWriteError { expected.allowed = [.right] }
    case .firstLook, .listFirst, .listMiddle, .listLast: break
    case .unmount: break
    }
  }

  /// Who has a file open while the process dies sees ENOTCONN or ECONNABORTED, and the bare directory after the mount.
  private static func process(_ kind: FaultKind, _ phase: FaultPhase, _ expected: inout FaultExpectation) {
    let cut: Set<FaultOutcome> = [
      .right, .failed(.notConnected), .failed(Errno(rawValue: ECONNABORTED)), .failed(.inputOutput),
    ]
    switch (kind, phase) {
    case (.memoryLimit, _): break
    case (.descriptorLimit, .mount), (.descriptorLimit, .remount):
      expected.allowed = [.right, .exit(1), .exit(6), .exit(7)]
    case (.descriptorLimit, .verify): expected.allowed = [.right, .exit(1), .exit(7)]
    case (.descriptorLimit, .unmount): break
    case (.descriptorLimit, _): expected.allowed = failing
    case (_, .mount), (_, .remount): expected.allowed = [.right, .exit(1), .exit(8), .exit(128 + 9), .exit(128 + 15)]
    // Copies that went within the second before are still in the catalogue, and missing.
    case (_, .verify): expected.allowed = [.right, .exit(1), .exit(8), .exit(9)]
    case (_, .unmount): expected.allowed = [.right, .exit(8)]
    case (.terminated, _): expected.allowed = cut.union([.failed(.noEntry)])
    default: expected.allowed = cut
    }
  }
}
