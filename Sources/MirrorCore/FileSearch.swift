// Finds the files that paths, patterns and prefixes mean, with listings alone.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Collects files, each once, in the order in which they are met.
struct FileSearch {
  /// Unknown names of one directory are asked for by themselves until so many make a listing worth its price.
  private static let smallTalk = 12

  let mirror: BucketMirror
  /// Listings are brought up to date; else what is known has to do.
  private let asks: Bool
  private(set) var files: [FileID] = []
  private(set) var failures: [WarmFailure] = []
  private var seen: Set<FileID> = []
  private var asked: [Int: Int] = [:]
  /// Directories whose listing this search has brought up to date.
  private var listed: Set<Int> = []

  init(mirror: BucketMirror, asks: Bool = true) {
    self.mirror = mirror
    self.asks = asks
  }

  private enum Place {
    case directory(Int)
    case file(FileID)
  }

  mutating func find(_ target: WarmTarget) async {
    let names = target.path.split(separator: 0x2F).map { Array($0) }
    if target.isPattern {
      let before = files.count
      if await !match(names[...], in: 0), files.count == before { fail(target.path, .noEntry) }
      return
    }
    do throws(Errno) { await add(try await place(of: names)) } catch { fail(target.path, error) }
  }

  /// The key of a file, or of a directory with its `/`.
  mutating func key(of path: [UInt8]) async throws(Errno) -> ObjectKey {
    let place = try await place(of: path.split(separator: 0x2F).map { Array($0) })
    return mirror.state.withLock { state in
      switch place {
      case .directory(let directory): ObjectKey(state.namespace.directories[directory].key)
      case .file(let file): state.namespace.key(Int(file.directory), Int(file.slot))
      }
    }
  }

  private mutating func place(of names: [[UInt8]]) async throws(Errno) -> Place {
    await mirror.recall(directory: 0)
    var place = Place.directory(0)
    for name in names {
      guard case .directory(let directory) = place else { throw .notDirectory }
      place = try await child(name, of: directory)
    }
    return place
  }

  /// All files whose keys begin with a prefix.
  mutating func find(prefix key: ObjectKey) async {
    let root = mirror.configuration.prefix.bytes
    if root.starts(with: key.bytes) { return await add(.directory(0)) }
    guard key.bytes.starts(with: root) else { return }
    var names = key.bytes[root.count...].split(separator: 0x2F, omittingEmptySubsequences: false).map { Array($0) }
    let beginning = names.popLast() ?? []
    var directory = 0
    await mirror.recall(directory: 0)
    for name in names {
      do throws(Errno) {
        guard case .directory(let next) = try await child(name, of: directory) else { return }
        directory = next
      } catch {
        // What does not exist yet may come.
        if error != .noEntry { fail(Array(key.bytes[root.count...]), error) }
        return
      }
    }
    if beginning.isEmpty { return await add(.directory(directory)) }
    guard await list(directory) else { return }
    for (name, place) in children(of: directory) where name.starts(with: beginning) { await add(place) }
  }

  private mutating func fail(_ path: [UInt8], _ reason: Errno) {
    failures.append(WarmFailure(path: path, reason: reason))
  }

  private mutating func add(_ place: Place) async {
    var rest = [place]
    while let place = rest.popLast() {
      if Task.isCancelled { return }
      switch place {
      case .file(let file): if seen.insert(file).inserted { files.append(file) }
      case .directory(let directory):
        if await list(directory) { rest += children(of: directory).map(\.place).reversed() }
      }
    }
  }

  /// Whether anything matched that needs no files of its own: a directory that is empty.
  private mutating func match(_ pattern: ArraySlice<[UInt8]>, in directory: Int) async -> Bool {
    guard let first = pattern.first else { return false }
    let rest = pattern.dropFirst()
    if !Glob.isPattern(first) {
      guard let place = try? await child(first, of: directory) else { return false }
      return await match(rest, at: place)
    }
    guard await list(directory) else { return true }
    var found = false
    let isDeep = first == Array("**".utf8)
    // `**/` also stands for no directory at all; at the end it means all there is.
    if isDeep, !rest.isEmpty { found = await match(rest, in: directory) }
    for (name, place) in children(of: directory) where !Task.isCancelled {
      if isDeep, !rest.isEmpty {
        if case .directory(let child) = place, await match(pattern, in: child) { found = true }
      } else if isDeep || Glob.matches(first, name) {
        if await match(rest, at: place) { found = true }
      }
    }
    return found
  }

  private mutating func match(_ rest: ArraySlice<[UInt8]>, at place: Place) async -> Bool {
    if rest.isEmpty {
      await add(place)
      return true
    }
    guard case .directory(let child) = place else { return false }
    return await match(rest, in: child)
  }

  // MARK: What is there

  /// A name of a directory, from memory, the catalogue, or a listing.
  private mutating func child(_ name: [UInt8], of directory: Int) async throws(Errno) -> Place {
    let id = NameID(directory: directory, name: name)
    if place(id) == nil { await mirror.recall(id) }
    if let place = place(id) { return place }
    if !asks { throw .noEntry }
    if mirror.state.withLock({ $0.namespace.hasFreshListing(directory, mirror.clock.now()) }) { throw .noEntry }
    asked[directory, default: 0] += 1
    if asked[directory, default: 0] > Self.smallTalk {
      guard await list(directory) else { throw .inputOutput }
    } else {
      if let failure = await mirror.bringSample(id) { throw failure }
    }
    guard let place = place(id) else { throw .noEntry }
    return place
  }

  private func place(_ id: NameID) -> Place? {
    mirror.state.withLock { state in state.namespace.slot(of: id).map { Self.place(id.directory, $0, state) } }
  }

  private static func place(_ directory: Int, _ slot: Int, _ state: borrowing BucketMirror.State) -> Place {
    let entry = state.namespace.directories[directory].table[slot]
    return entry.kind == .directory ? .directory(Int(entry.link)) : .file(FileID(directory, slot))
  }

  private func children(of directory: Int) -> [(name: [UInt8], place: Place)] {
    mirror.state.withLock { state in
      let table = state.namespace.directories[directory].table
      return (0..<table.count).compactMap { slot in
        table[slot].kind == .none ? nil : (Array(table.name(slot)), Self.place(directory, slot, state))
      }
    }
  }

  /// Brings a listing up to date, whole; false and a failure where that can't be.
  private mutating func list(_ directory: Int) async -> Bool {
    if !listed.insert(directory).inserted { return true }
    if !asks {
      await mirror.load(directory: directory)
      return true
    }
    let mirror = mirror
    if let failure = await mirror.ahead({ await mirror.bringListing(directory) }) {
      let path = mirror.state.withLock { state in
        Array(state.namespace.directories[directory].key[state.namespace.prefixLength...].dropLast())
      }
      fail(path, failure)
      return false
    }
    return true
  }
}

extension BucketMirror {
  /// What begins with a name; nil when it is known.
  fileprivate func bringSample(_ id: NameID) async -> Errno? {
    let key = ObjectKey(state.withLock { $0.namespace.directories[id.directory].key } + id.name)
    return await ahead {
      do throws(StoreError) {
        try await sample(Question(id: id, key: key, subject: .discover(beside: .init(), wasAbsent: false)))
      } catch {
        Errand.current?.note(error)
        return error.errno
      }
      return nil
    }
  }

  /// Waits for all pages of a listing.
  func bringListing(_ directory: Int) async -> Errno? {
    let node = state.withLock { $0.namespace.nodes.id($0.namespace.directories[directory].node) }
    let failure: Errno? = await withCheckedContinuation { continuation in
      bringUpToDate(node) { continuation.resume(returning: $0) }
    }
    if let failure { return failure }
    var offset: UInt64 = 0
    while true {
      let from = offset
      let (end, failure): (UInt64, Errno?) = await withCheckedContinuation { continuation in
        let reader = ListingEnd(from) { continuation.resume(returning: $0) }
        readDirectory(node, handle: 0, offset: from, plus: false, into: reader)
      }
      if let failure { return failure }
      if end == offset { return nil }
      offset = end
    }
  }
}

/// Reads a listing without keeping it.
private final class ListingEnd: DirectoryCollector {
  private let offset: Mutex<UInt64>
  private let done: @Sendable ((UInt64, Errno?)) -> Void

  init(_ offset: UInt64, _ done: @escaping @Sendable ((UInt64, Errno?)) -> Void) {
    self.offset = Mutex(offset)
    self.done = done
  }

  func add(name: ArraySlice<UInt8>, entry: NodeEntry, offset: UInt64) -> Bool { note(offset) }
  func add(name: Span<UInt8>, plain entry: PlainEntry, offset: UInt64) -> Bool { note(offset) }

  private func note(_ offset: UInt64) -> Bool {
    self.offset.withLock { $0 = offset }
    return true
  }

  func finish(_ error: Errno?) -> Bool {
    done((offset.withLock { $0 }, error))
    return true
  }
}
