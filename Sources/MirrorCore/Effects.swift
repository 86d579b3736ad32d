// What a change of the namespace asks of others, collected under the lock and done after it.
import MirrorCache
import MirrorPlatform
import MirrorStore

/// The content behind the current revision of a name.
struct FileID: Hashable {
  let directory: Int32
  let slot: Int32
  init(_ directory: Int, _ slot: Int) {
    self.directory = Int32(directory)
    self.slot = Int32(slot)
  }
}

/// A revision that is no longer the current one of its name.
struct Retirement {
  let key: ObjectKey
  let revision: ObjectRevision
  let file: FileID
  /// The node that the kernel still has of it, or 0.
  var node: UInt32 = 0
}

struct Effects {
  enum Notice {
    case expire(NodeID, [UInt8])
    case invalidate(NodeID, [UInt8])
  }

  var changes: [CatalogueChange] = []
  var notices: [Notice] = []
  var retired: [Retirement] = []
  /// Copies that may not be kept, of which no content is in use.
  var unwanted: [(ObjectKey, ObjectRevision)] = []
  var lacks: [ServerLack] = []
  var hidden: [(ObjectKey, KeyName.HiddenReason)] = []
  /// Both clocks at one moment: turns instants into stamps that outlive the process.
  var clocks = (now: Instant.distantPast, wall: WallTime(milliseconds: 0))
  /// What the wall clock would show now, had it not been set back since the start: by it stamps are as old as they are.
  var latest = WallTime(milliseconds: 0)

  func wall(_ instant: Instant) -> WallTime {
    if instant == .distantPast { return WallTime(milliseconds: 0) }
    return WallTime(milliseconds: clocks.wall.milliseconds - (clocks.now - instant).nanosecondsClamped / 1_000_000)
  }

  /// A stamp of the wall clock as an instant; one from the future counts as unknown (design: never fresher).
  func instant(_ wall: WallTime) -> Instant {
    guard wall.milliseconds > 0, wall <= clocks.wall else { return .distantPast }
    return clocks.now + (wall - max(latest, clocks.wall))
  }
}
