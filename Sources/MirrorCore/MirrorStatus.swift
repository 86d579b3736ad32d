// What people and scripts may ask of a running mirror: its state, and to look again.
public import MirrorCache
public import MirrorPlatform
public import MirrorStore
import Synchronization

public struct MirrorStatus: Sendable {
  /// Nil while the origin answers.
  public let offlineSince: WallTime?
  public let requests: RequestCounts
  /// USD since mount.
  public let cost: Double
  public let served: ServedCounts
  public let cache: CacheUsage
  public let hiddenKeys: Int

  public var online: Bool { offlineSince == nil }
}

extension BucketMirror {
  public func status() -> MirrorStatus {
    let (served, hidden) = state.withLock { ($0.served, $0.namespace.hidden.count) }
    let counts = ledger.sinceMount
    return MirrorStatus(
      offlineSince: store.offlineSince, requests: counts, cost: counts.cost(ledger.prices), served: served,
      cache: cache.usage(), hiddenKeys: hidden)
  }

  /// Objects that have no name in the mount, as far as they were seen, and why.
  public func hiddenKeys() -> [(key: ObjectKey, reason: String)] {
    state.withLock { $0.namespace.hidden.map { ($0.key, $0.value.rawValue) } }.sorted { $0.0 < $1.0 }
      .map { (key: $0.0, reason: $0.1) }
  }

  /// Marks a name, or all below a directory, as stale: the next open asks the origin. `path` is relative to the
  /// mount root, empty for all. Returns how many were marked; nil for a name that nobody knows.
  public func refresh(_ path: [UInt8]) async -> Int? {
    let key = ObjectKey(configuration.prefix.bytes + path)
    await recall(path: path)
    let inMemory = change { state, now -> Int? in
      let absent = state.namespace.expireAbsences(below: key.bytes)
      guard let (directory, slot) = state.namespace.place(ofPath: path[...]) else { return absent > 0 ? absent : nil }
      guard let slot else { return absent + state.namespace.expire(directory, told: now) }
      let name = state.namespace.directories[directory].table.name(slot)
      return absent + state.namespace.expire(directory, name, told: now)
    }
    let remembered = await cache.catalogue.markStale(key)
    if inMemory == nil && remembered == 0 && !path.isEmpty { return nil }
    return max(inMemory ?? 0, remembered)
  }

  /// Other freshness rules from now on; ages count on, and no request is sent for it.
  public func replaceRules(_ rules: FreshnessRules) { change { state, _ in state.namespace.replaceRules(rules) } }

  /// Brings in what the catalogue knows of each name on a path.
  func recall(path: [UInt8]) async {
    var directory = 0
    await recall(directory: 0)
    for name in path.split(separator: 0x2F) {
      let id = NameID(directory: directory, name: Array(name))
      if state.withLock({ $0.namespace.slot(of: id) }) == nil { await recall(id) }
      guard let next = state.withLock({ $0.namespace.subdirectory(directory, name) }) else { break }
      directory = next
    }
    guard let file = state.withLock({ $0.namespace.place(ofPath: path[...]) }), let slot = file.slot else { return }
    let entry = state.withLock { $0.namespace.directories[file.directory].table[slot] }
    if entry.kind == .file, !entry.recalled {
      _ = await recallCached(FileID(file.directory, slot), ObjectKey(configuration.prefix.bytes + path))
    }
  }
}
