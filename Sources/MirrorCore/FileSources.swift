// What the contents of files share, and whom they report to.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

/// What files share: where bytes come from and go to.
final class FileSources: Sendable {
  let store: any ObjectStore
  let cache: Cache
  let log: Log
  let clock: any Clock
  let partSize: Int64
  let versions: VersionAccess
  let traits: ServerTraits
  /// While a reader waits for room.
  let pause: @Sendable (Duration) async -> Void
  /// Answers readers away from the transfer thread.
  let replies = WorkQueue(name: "reply", threads: 2)

  /// Made when first needed.
  private let checks = Mutex<WorkQueue?>(nil)

  init(
    store: any ObjectStore, cache: Cache, traits: ServerTraits, log: Log, clock: any Clock, partSize: Int64,
    isPast: Bool = false, pause: @escaping @Sendable (Duration) async -> Void
  ) {
    self.pause = pause
    self.store = store
    self.cache = cache
    self.traits = traits
    self.log = log
    self.clock = clock
    self.partSize = partSize
    versions = VersionAccess(always: isPast, log: log)
  }

  /// Has every block of a copy checked that needs it, in the background.
  func check(_ blob: Blob) {
    let queue = checks.withLock { queue in
      let made = queue ?? WorkQueue(name: "check", threads: 1)
      queue = made
      return made
    }
    queue.submit { blob.checkAll() }
  }
}

/// Whom a file tells what happens to it.
protocol FileOwner: AnyObject, Sendable {
  /// The revision is gone from the bucket: its name must be asked for again.
  func revisionGone(_ file: MirroredFile)
  /// Bytes of it that may have been shown were not right.
  func contentDamaged(_ file: MirroredFile)
  /// An answer for it came, and says this of it.
  func fileTold(_ file: MirroredFile, _ metadata: ObjectMetadata, asked: Instant)
  /// The first of its bytes come from the origin.
  func fileFetched(_ file: MirroredFile)
  /// Every byte is here.
  func fileComplete(_ file: MirroredFile)
  /// The kernel forgot it, and nothing of it is on its way any more.
  func fileUnused(_ file: MirroredFile)
  /// These keys' unused inodes stand in the way of room.
  func askToForget(_ keys: [ObjectKey])
}
