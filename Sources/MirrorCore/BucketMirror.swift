// The mirror of one bucket: joins the namespace, the origin and the cache into a tree that can be served.
public import MirrorCache
public import MirrorPlatform
public import MirrorStore
import Synchronization

public struct MirrorConfiguration: Sendable {
  /// Only keys below it are shown: empty, or ending in `/`.
  public var prefix: ObjectKey
  public var rules: FreshnessRules
  /// Never ask the origin.
  public var offline: Bool
  /// Objects up to this size are fetched whole, larger ones in requests of at most this size.
  public var partSize: Int64
  /// The store shows what once was: content is asked for by its version.
  public var isPast: Bool
  public var posixUse = PosixUse.free
  /// The one that all objects have, where the bucket has but one.
  public var storageClass: StorageClass?

  public init(
    prefix: ObjectKey = ObjectKey(""), rules: FreshnessRules = FreshnessRules(), offline: Bool = false,
    partSize: Int64 = 8 << 20, isPast: Bool = false
  ) {
    self.isPast = isPast
    self.prefix = prefix
    self.rules = rules
    self.offline = offline
    self.partSize = partSize
  }
}

/// A bucket as a tree of files. Safe to share; see `FileTree` for its promises to the kernel's side.
public final class BucketMirror: FileTree {
  /// A caller waits at most so long for the origin when a stale answer is at hand …
  static let patience = Duration.seconds(4)
  /// When an answer takes so long, it is worth asking whether the origin answers at all.
  static let unease = Duration.seconds(3)
  /// … and so long when none is.
  static let deadline = Duration.seconds(25)
  /// The first question of all.
  static let startDeadline = Duration.seconds(10)

  struct State {
    var namespace: Namespace
    var lookups: [NameID: LookupFlight] = [:]
    var listings: [Int: ListingFlight] = [:]
    /// Content in use or on its way: of current revisions by name, of older ones by the node that uses them.
    var files: [FileID: MirroredFile] = [:]
    var superseded: [UInt32: MirroredFile] = [:]
    var handles: [UInt64: OpenDirectory] = [:]
    var lastHandle: UInt64 = 0
    var lastFlight: UInt64 = 0
    /// Directories whose stamps in the catalogue were read.
    var recalled: Set<Int> = []
    /// Directories too large for one page of all that lies below them.
    var large: Set<Int> = []
    /// What was spent on validation, by block, and by directory where no block is known.
    var blocks = KeyBlocks()
    var spending: [Int: SpendingHistory] = [:]
    /// When a directory's child was last listed by itself, and how many keys lay below it.
    var lastChildListed: [Int: (at: Instant, keys: Int)] = [:]
    /// Pages of large directories that were not worth their price, one after the other.
    var wastedPages: [Int: Int] = [:]
    /// Pages under way that somebody waits for.
    var pages: [PageTarget: PageTask] = [:]
    var served = ServedCounts()
    var walks = WalkPolicy()
    /// Content that lost its name in the change under way.
    var retired: [MirroredFile] = []

    /// Content of superseded revisions follows the node that still uses it: before their names get new content.
    mutating func moveRetired() {
      for retirement in namespace.effects.retired {
        guard let file = files.removeValue(forKey: retirement.file) else { continue }
        if retirement.node != 0 { superseded[retirement.node] = file }
        file.supersede()
        retired.append(file)
      }
      namespace.effects.retired = []
    }

    /// The content of a replaced revision that somebody still uses.
    func supersededFile(_ key: ObjectKey, _ revision: ObjectRevision) -> MirroredFile? {
      superseded.values.first { $0.key == key && $0.revision.sameBytes(as: revision) }
    }
  }

  let configuration: MirrorConfiguration
  let store: OriginBreaker
  private let origin: any ObjectStore
  let cache: Cache
  let ledger: Ledger
  let clock: any Clock
  /// Both clocks when it was made.
  private let started: (now: Instant, wall: WallTime)
  let log: Log
  let planner: ValidationPlanner
  let state: Mutex<State>
  let notices = Mutex<(any KernelNotices)?>(nil)
  let sources: FileSources
  /// What the server is known not to do.
  let traits: ServerTraits
  /// Between what is fetched ahead.
  let sleep: @Sendable (Duration) async -> Void
  /// While somebody waits: for an answer, for room, for the origin to come back. Ends when its task is cancelled.
  let pause: @Sendable (Duration) async -> Void

  /// `store` retries by itself; the cache stays its owner's to close.
  public init(
    configuration: MirrorConfiguration, store: any ObjectStore, cache: Cache, ledger: Ledger,
    traits: ServerTraits = ServerTraits(), clock: any Clock = SystemClock(), log: Log = .none,
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.sleep = sleep
    self.pause = pause
    self.configuration = configuration
    origin = store
    self.store = OriginBreaker(
      store, forcedOffline: configuration.offline, clock: clock, log: log, pause: pause)
    self.cache = cache
    self.ledger = ledger
    planner = ValidationPlanner(prices: configuration.storageClass.map(ledger.prices.ofBucket) ?? ledger.prices)
    self.traits = traits
    self.clock = clock
    started = (clock.now(), clock.wall())
    self.log = log
    sources = FileSources(
      store: self.store, cache: cache, traits: traits, log: log, clock: clock, partSize: configuration.partSize,
      isPast: configuration.isPast, pause: pause)
    state = Mutex(
      State(
        namespace: Namespace(prefix: configuration.prefix, rules: configuration.rules, posixUse: configuration.posixUse)
      ))
  }

  /// Tells the mirror how to reach the kernel.
  public func attach(_ notices: any KernelNotices) { self.notices.withLock { $0 = notices } }

  /// Before the mount: asks the origin once, unless what the catalogue knows is fresh.
  /// Returns whether the origin answers; throws when it can't be used and nothing is cached.
  public func start() async throws(StoreError) -> Bool {
    let known = await cache.catalogue.listing(configuration.prefix) != nil
    await recallTraits()
    await recall(directory: 0)
    if configuration.posixUse == .free, await cache.catalogue.hasDescriptions() {
      state.withLock { $0.namespace.recallsDescriptions = true }
    }
    if configuration.offline { return false }
    let fresh = change { state, now in state.namespace.hasFreshListing(0, now) }
    if fresh { return true }
    do throws(StoreError) {
      // Past the breaker: at the start a failure is the caller's to judge.
      try await sampleRoot(within: known ? Self.patience : Self.startDeadline)
      return true
    } catch {
      // What the bucket's owner says is obeyed; what the network says is waited for.
      let definite = error.code == .noSuchBucket || error.code == .credentials || error.code == .clockSkew
      guard known, error.isNoAnswer, !definite else { throw error }
      if error.code == .overBudget { return true }
      store.open(because: error)
      return false
    }
  }

  /// The whole page in so much time: a request's own deadline is for the head of its answer alone.
  private func sampleRoot(within limit: Duration) async throws(StoreError) {
    let work = Task { () -> StoreError? in
      do throws(StoreError) {
        try await sampleRoot(origin, deadline: limit)
        return nil
      } catch { return error }
    }
    let timer = Task {
      try? await Task.sleep(for: limit)
      if !Task.isCancelled { work.cancel() }
    }
    defer { timer.cancel() }
    guard let error = await work.value else { return }
    guard error.code == .cancelled else { throw error }
    throw StoreError(.timeout, operation: error.operation, subject: error.subject, message: "no answer in time")
  }

  /// Writes what is not yet written.
  public func stop() async {
    cache.catalogue.saveLedger(ledger.takeUnsaved())
    await cache.catalogue.flush()
  }

  /// Changes the state under its lock, and does afterwards what the change asks for.
  func change<Result: Sendable>(_ body: (inout State, Instant) -> Result) -> Result {
    let clocks = (now: clock.now(), wall: clock.wall())
    let elapsed = (clocks.now - started.now).nanosecondsClamped / 1_000_000
    let (result, effects, retired) = state.withLock { state in
      state.namespace.effects = Effects()
      state.namespace.effects.clocks = clocks
      state.namespace.effects.latest = max(clocks.wall, WallTime(milliseconds: started.wall.milliseconds + elapsed))
      let result = body(&state, clocks.now)
      state.moveRetired()
      defer { state.retired = [] }
      return (result, state.namespace.effects, state.retired)
    }
    carryOut(effects, retired)
    return result
  }

  private func carryOut(_ effects: Effects, _ retired: [MirroredFile]) {
    cache.catalogue.record(effects.changes)
    for lack in effects.lacks {
      traits.note(lack)
      log.once(.notice, key: "lack \(lack.rawValue)", "the server \(lack.remedy)")
    }
    for (key, reason) in effects.hidden {
      cache.catalogue.record(.hidden(key, reason.rawValue))
      log.limited(.warning, key: "hidden", "the object \(key) has no name in the mount: \(reason.rawValue)")
    }
    if !effects.notices.isEmpty, let notices = notices.withLock({ $0 }) {
      for notice in effects.notices {
        switch notice {
        case .expire(let parent, let name): notices.expire(name, in: parent)
        case .invalidate(let parent, let name): notices.invalidate(name, in: parent)
        }
      }
    }
    for (key, revision) in effects.unwanted {
      Task { [cache] in if let blob = await cache.find(key, revision) { cache.retire(blob) } }
    }
    // Copies that no file object holds are let go by the catalogue, which was told of the change.
    for file in retired { file.letCopyGo() }
  }
}
