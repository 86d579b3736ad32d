// Keeps pinned content here and current: validates it as its lifetimes end, in the cheaper way, and fetches what changed.
import MirrorCache
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// Looks after the pins of one mirror, in rounds.
public final class PinKeeper: Sendable {
  /// The times between two rounds: whatever the lifetimes are, and where an answer may not be used at all.
  static let shortest = Duration.seconds(5)
  static let longest = Duration.seconds(3600)
  static let always = Duration.seconds(60)

  private struct State {
    var loop: Task<Void, Never>?
    /// Checks since a prefix was last listed: once they cost as much as a page, it is listed, and new names come to light.
    var checks: [ObjectKey: Int] = [:]
  }
  private let mirror: BucketMirror
  private let state = Mutex(State())

  public init(_ mirror: BucketMirror) { self.mirror = mirror }

  /// Rounds from now on; called again, it begins one at once.
  public func start() {
    let loop = Task { [weak self] in
      while !Task.isCancelled {
        guard let pause = await self?.round() else { return }
        try? await Task.sleep(for: pause)
      }
    }
    state.withLock { state in
      defer { state.loop = loop }
      return state.loop
    }?.cancel()
  }

  public func stop() { state.withLock { $0.loop }?.cancel() }

  /// Brings all pinned content up to date; how long it is from now until the next of it is stale.
  func round() async -> Duration {
    var pause = Self.longest
    let pins = await mirror.cache.pins()
    for pin in pins where !pins.contains(where: { $0 != pin && pin.bytes.starts(with: $0.bytes) }) {
      if Task.isCancelled { break }
      // What can't be asked for now is asked for when the origin is back.
      if mirror.store.offlineSince != nil { return Self.always }
      pause = min(pause, await keep(pin))
    }
    return pause
  }

  private func keep(_ pin: ObjectKey) async -> Duration {
    var search = FileSearch(mirror: mirror, asks: false)
    await search.find(prefix: pin)
    let stale = mirror.staleCount(search.files)
    let price = Int(mirror.planner.pageInChecks)
    let spent = state.withLock { $0.checks[pin] ?? 0 } + stale
    if search.files.isEmpty || spent > price {
      search = FileSearch(mirror: mirror)
      await search.find(prefix: pin)
      state.withLock { $0.checks[pin] = 0 }
    } else {
      state.withLock { $0.checks[pin] = spent }
    }
    let plan = await mirror.plan(search.files)
    if plan.missingBytes > 0, plan.bytes > mirror.cache.usage().limit {
      mirror.log.limited(.warning, key: "pin", "what is pinned under '\(pin)' does not fit into the cache")
      return Self.longest
    }
    let failures = await mirror.warm(plan)
    // A directory that can't be listed, or a file that can't be had: not again at once.
    if !failures.isEmpty || !search.failures.isEmpty { return Self.always }
    return mirror.timeUntilStale(search.files)
  }
}

extension BucketMirror {
  /// What all keys in the mount begin with.
  public var keyPrefix: ObjectKey { configuration.prefix }

  /// Keys that begin with one of these are never evicted.
  public func pins() async -> [ObjectKey] { await cache.pins() }

  /// Exempts all keys that begin with a prefix from eviction, or takes away the pins that begin with it; on disk when
  /// it returns.
  public func pin(_ prefix: ObjectKey, _ isPinned: Bool) async {
    await cache.pin(prefix, isPinned)
    await cache.catalogue.flush()
  }

  /// What is to be fetched of all keys that begin with a prefix.
  public func planWarming(prefix: ObjectKey) async -> WarmPlan {
    var search = FileSearch(mirror: self)
    await search.find(prefix: prefix)
    return await plan(search.files, failures: search.failures)
  }

  /// The key of a file, or of a directory with its `/`; throws ENOENT for what does not exist.
  public func key(ofPath path: [UInt8]) async throws(Errno) -> ObjectKey {
    var search = FileSearch(mirror: self)
    return try await search.key(of: path)
  }

  fileprivate func staleCount(_ files: [FileID]) -> Int {
    state.withLock { state in
      let now = clock.now()
      return files.count { !state.namespace.isFresh(Int($0.directory), Int($0.slot), now) }
    }
  }

  fileprivate func timeUntilStale(_ files: [FileID]) -> Duration {
    state.withLock { state in
      let now = clock.now()
      return files.reduce(PinKeeper.longest) { least, file in
        let (directory, slot) = (Int(file.directory), Int(file.slot))
        let lifetime = state.namespace.lifetime(directory, slot)
        let rest = state.namespace.directories[directory].table[slot].validated + lifetime - now
        return min(least, lifetime == .zero ? PinKeeper.always : max(PinKeeper.shortest, rest))
      }
    }
  }
}
