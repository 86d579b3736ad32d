// Fetching ahead: what of files, trees and patterns is not here yet, what it would cost to have it, and having it.
import MirrorCache
public import MirrorPlatform
import MirrorStore
import Synchronization

/// What somebody wants to have, relative to the mount's root.
public struct WarmTarget: Equatable, Sendable {
  public let path: [UInt8]
  /// A shell pattern over the bucket's names, not the name of one file or directory.
  public let isPattern: Bool

  public init(_ path: [UInt8], isPattern: Bool = false) {
    self.path = path
    self.isPattern = isPattern
  }

  /// Whether a path holds what means something in a pattern.
  public static func isPattern(_ path: [UInt8]) -> Bool { Glob.isPattern(path) }
}

/// A file or directory that could not be had.
public struct WarmFailure: Equatable, Sendable {
  /// Relative to the mount's root.
  public let path: [UInt8]
  public let reason: Errno
}

/// What is to be fetched, and its price, before anything is.
public struct WarmPlan: Sendable {
  /// All files meant, and their bytes.
  public internal(set) var objects = 0
  public internal(set) var bytes: Int64 = 0
  /// Those that are not here whole, and the bytes that they lack.
  public internal(set) var missingObjects = 0
  public internal(set) var missingBytes: Int64 = 0
  /// GETs, one for each part.
  public internal(set) var requests = 0
  /// USD.
  public internal(set) var cost = 0.0
  public internal(set) var failures: [WarmFailure] = []
  var files: [PlannedFile] = []
}

/// A file that is stale or not here whole.
struct PlannedFile: Sendable {
  let id: FileID
  let size: Int64
  let missing: Int64
}

/// How far it has come; only ever grows.
public struct WarmProgress: Equatable, Sendable {
  public var objects = 0
  public var bytes: Int64 = 0
  public init() {}
}

extension BucketMirror {
  /// Small files at one time, and parts of large ones.
  static let smallAtOnce = 12
  static let partsAtOnce: Int64 = 4

  /// Finds the files meant and what of them is missing. Asks for no content, and for listings only where they are not
  /// known or stale.
  public func planWarming(_ targets: [WarmTarget]) async -> WarmPlan {
    var search = FileSearch(mirror: self)
    for target in targets where !Task.isCancelled { await search.find(target) }
    return await plan(search.files, failures: search.failures)
  }

  func plan(_ files: [FileID], failures: [WarmFailure] = []) async -> WarmPlan {
    var plan = WarmPlan()
    plan.failures = failures
    for id in files {
      let (directory, slot) = (Int(id.directory), Int(id.slot))
      let known = state.withLock { state -> (Entry, ObjectKey, String, Bool)? in
        let entry = state.namespace.directories[directory].table[slot]
        guard entry.kind == .file else { return nil }
        return (
          entry, state.namespace.key(directory, slot), state.namespace.storageClass(entry),
          state.namespace.isFresh(directory, slot, clock.now())
        )
      }
      guard let (entry, key, storageClass, isFresh) = known else { continue }
      let size = entry.revision.size
      let mayBeHere = size > 0 && (entry.cached || !entry.recalled)
      let blob = mayBeHere ? await cache.find(key, entry.revision) : nil
      let isSeeded = blob == nil && cache.isSeeded(key, entry.revision)
      let missing = blob.map { $0.isComplete ? 0 : max(0, size - $0.cachedBytes) } ?? (isSeeded ? 0 : size)
      plan.objects += 1
      plan.bytes = plan.bytes.addingSaturating(size)
      if missing > 0 {
        plan.missingObjects += 1
        plan.missingBytes = plan.missingBytes.addingSaturating(missing)
      }
      if missing == 0 && isFresh { continue }
      plan.files.append(PlannedFile(id: id, size: size, missing: missing))
      let parts = size <= configuration.partSize ? 1 : (missing + configuration.partSize - 1) / configuration.partSize
      // A GET for bytes also tells whether what it brings is current.
      let requests = Int(missing > 0 ? parts : 1)
      plan.requests += requests
      plan.cost += ledger.prices.cost(
        RequestClass(.get, .success, StorageClass(storageClass)), Tally(requests: requests, bytes: missing))
    }
    return plan
  }

  /// Fetches what a plan lacks; ends early when its task is cancelled. `progress` counts the files and bytes of
  /// `missingObjects` and `missingBytes` as they are done with, and ends there. Returns what could not be had.
  public func warm(
    _ plan: WarmPlan, progress: @escaping @Sendable (WarmProgress) -> Void = { _ in }
  ) async -> [WarmFailure] {
    let tally = WarmTally(progress)
    await withTaskGroup(of: Void.self) { group in
      // A large file has parts under way enough by itself.
      let large = plan.files.filter { $0.size > configuration.partSize }
      group.addTask { for file in large where !Task.isCancelled { await self.fetch(file, tally) } }
      var free = Self.smallAtOnce
      for file in plan.files where file.size <= configuration.partSize && !Task.isCancelled {
        if free == 0 { _ = await group.next() } else { free -= 1 }
        group.addTask { await self.fetch(file, tally) }
      }
    }
    return tally.failures
  }

  private func fetch(_ file: PlannedFile, _ tally: WarmTally) async {
    if Task.isCancelled { return }
    let failure = await ahead {
      let failure = await fetchOnce(file, tally)
      // Its revision was superseded on the way: the new one is as good.
      return failure == .stale ? await fetchOnce(file, tally) : failure
    }
    if Task.isCancelled { return }
    tally.finish(file, failure.map { WarmFailure(path: path(of: file.id), reason: $0) })
  }

  func path(of file: FileID) -> [UInt8] {
    state.withLock { state in
      let directory = Int(file.directory)
      return Array(state.namespace.path(directory, state.namespace.directories[directory].table.name(Int(file.slot))))
    }
  }

  /// Fetches what a file lacks, or validates it where it lacks nothing; nil when all is here.
  private func fetchOnce(_ planned: PlannedFile, _ tally: WarmTally) async -> Errno? {
    let entry: NodeEntry
    switch await answer(for: planned) {
    case .found(let found): entry = found
    case .absent: return .noEntry
    case .failed(let errno): return errno
    }
    let node = entry.attributes.node
    defer { forget(node, count: 1) }
    if entry.attributes.isDirectory { return .isDirectory }
    let size = entry.attributes.size
    if size == 0 { return nil }
    guard let content = state.withLock({ fileContent(node, &$0) }) else { return .stale }
    let chunk = content.isWholeOnly ? size : Self.partsAtOnce * configuration.partSize
    var offset: Int64 = 0
    while offset < size {
      if Task.isCancelled { return .interrupted }
      let end = min(size, offset + chunk)
      if let failure = await content.bring(offset..<end) { return failure }
      if planned.missing > 0 { tally.advance(planned, to: end - max(0, size - planned.missing)) }
      offset = end
    }
    return nil
  }

  /// Asks about the name only where no GET for its bytes will: that tells, too, whether it is current.
  private func answer(for planned: PlannedFile) async -> LookupAnswer {
    let (directory, slot) = (Int(planned.id.directory), Int(planned.id.slot))
    let (known, node, name) = change { state, now -> (LookupAnswer?, NodeID, [UInt8]) in
      let table = state.namespace.directories[directory].table
      let isKnown = planned.missing > 0 && table[slot].kind == .file && !table[slot].isExpired
      return (
        isKnown ? state.namespace.answer(directory, slot, now: now) : nil,
        state.namespace.nodes.id(state.namespace.directories[directory].node), Array(table.name(slot))
      )
    }
    if let known { return known }
    return await lookUp(name, in: node)
  }

  private func fileContent(_ node: NodeID, _ state: inout State) -> MirroredFile? {
    guard let index = state.namespace.nodes.index(node), state.namespace.nodes[index].role == .file else { return nil }
    let place = state.namespace.nodes[index]
    return content(FileID(Int(place.directory), Int(place.slot)), &state)
  }

  /// LOOKUP, awaited.
  func lookUp(_ name: [UInt8], in parent: NodeID) async -> LookupAnswer {
    await withCheckedContinuation { continuation in
      lookUp(name, in: parent) {
        continuation.resume(returning: $0)
        return true
      }
    }
  }
}

/// Adds up what is done with.
private final class WarmTally: Sendable {
  private struct State {
    var done = WarmProgress()
    /// Of files under way.
    var partial: [FileID: Int64] = [:]
    var failures: [WarmFailure] = []
  }
  private let state = Mutex(State())
  private let report: @Sendable (WarmProgress) -> Void
  init(_ report: @escaping @Sendable (WarmProgress) -> Void) { self.report = report }

  var failures: [WarmFailure] { state.withLock { $0.failures } }

  /// So many of the bytes that a file lacks are here.
  func advance(_ file: PlannedFile, to bytes: Int64) {
    report(
      state.withLock { state in
        let (before, now) = (state.partial[file.id] ?? 0, min(max(0, bytes), file.missing))
        if now > before {
          state.partial[file.id] = now
          state.done.bytes = state.done.bytes.addingSaturating(now - before)
        }
        return state.done
      })
  }

  func finish(_ file: PlannedFile, _ failure: WarmFailure?) {
    report(
      state.withLock { state in
        let rest = file.missing - (state.partial.removeValue(forKey: file.id) ?? 0)
        state.done.bytes = state.done.bytes.addingSaturating(rest)
        if file.missing > 0 { state.done.objects += 1 }
        if let failure { state.failures.append(failure) }
        return state.done
      })
  }
}
