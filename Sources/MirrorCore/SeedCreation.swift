// `seed create`: what lies below a prefix, fetched into a directory that images and machines carry with them.
import MirrorCache
public import MirrorPlatform
public import MirrorStore
import Synchronization

/// Why a seed could not be made.
public enum SeedFailure: Error, Sendable {
  case store(StoreError)
  case file(String, Errno)
}

/// What a seed holds now, and what it lacks.
public struct SeedSummary: Sendable {
  public struct LeftOut: Sendable {
    public let key: ObjectKey
    public let reason: String
  }
  public var objects = 0
  public var bytes: Int64 = 0
  /// Of these, fetched now; the rest was there.
  public var fetched = 0
  /// Objects that can't be had at all, such as archived ones.
  public var leftOut: [LeftOut] = []
  /// Objects that could not be fetched now. Where there are some the seed is not finished; what was fetched counts when
  /// it is made again.
  public var failures: [LeftOut] = []
}

/// How far it has come.
public struct SeedProgress: Equatable, Sendable {
  public var objects = 0
  public var bytes: Int64 = 0
  public var doneObjects = 0
  public var doneBytes: Int64 = 0
}

public final class SeedCreation: Sendable {
  private static let atOnce = 8
  private static let attempts = 5

  private let store: any ObjectStore
  private let directory: String
  private let source: String
  private let prefix: ObjectKey
  private let clock: any Clock
  private let progress: @Sendable (SeedProgress) -> Void
  private struct State {
    var progress = SeedProgress()
    var entries: [SeedEntry] = []
    var summary = SeedSummary()
  }
  private let state = Mutex(State())

  /// `store` retries by itself. `source` is told in the manifest.
  public init(
    _ store: any ObjectStore, source: String, prefix: ObjectKey, directory: String, clock: any Clock = SystemClock(),
    progress: @escaping @Sendable (SeedProgress) -> Void = { _ in }
  ) {
    self.store = store
    self.source = source
    self.prefix = prefix
    self.directory = directory
    self.clock = clock
    self.progress = progress
  }

  public func run() async throws(SeedFailure) -> SeedSummary {
    try prepare()
    let created = clock.wall()
    let listed = try await list()
    state.withLock { state in
      state.progress.objects = listed.count
      state.progress.bytes = listed.reduce(0) { $0.addingSaturating($1.revision.size) }
    }
    let known = knownEntries()
    let objects = Array(listed.enumerated())
    await withTaskGroup(of: Void.self) { group in
      for (index, object) in objects {
        if index >= Self.atOnce { _ = await group.next() }
        group.addTask { await self.take(object, known[object.key]) }
      }
    }
    return try finish(created)
  }

  private func prepare() throws(SeedFailure) {
    do throws(Errno) { try FileSystem.makeDirectories(directory + "/objects", mode: 0o755) } catch {
      throw .file(directory, error)
    }
  }

  private func list() async throws(SeedFailure) -> [ListedObject] {
    var objects: [ListedObject] = []
    var request = ListRequest(prefix: prefix, delimited: false)
    while true {
      request.deadline = clock.now() + .seconds(60)
      do throws(StoreError) {
        let page = try await store.list(request)
        objects += page.objects
        guard let next = page.next else { return objects }
        request.continuation = next
      } catch { throw .store(error) }
    }
  }

  /// What an earlier run, finished or not, has fetched.
  private func knownEntries() -> [ObjectKey: SeedEntry] {
    var known: [ObjectKey: SeedEntry] = [:]
    for name in ["manifest", "manifest.part"] {
      guard let bytes = try? FileSystem.read("\(directory)/\(name)"), let manifest = SeedManifest(bytes: bytes) else {
        continue
      }
      for entry in manifest.entries { known[entry.key] = entry }
    }
    return known
  }

  // MARK: One object

  private func take(_ object: ListedObject, _ known: SeedEntry?) async {
    if let known, known.revision.sameBytes(as: object.revision), isThere(known) {
      return done(with: object) { $0.entries.append(known) }
    }
    for attempt in 1...Self.attempts {
      do throws(SeedFailure) {
        let entry = try await fetch(object.key)
        return done(with: object) { state in
          state.entries.append(entry)
          state.summary.fetched += 1
        }
      } catch {
        if case .store(let error) = error, error.isRetryable, attempt < Self.attempts { continue }
        return done(with: object) { note(error, object.key, &$0.summary) }
      }
    }
  }

  private func note(_ failure: SeedFailure, _ key: ObjectKey, _ summary: inout SeedSummary) {
    switch failure {
    // Deleted since it was listed.
    case .store(let error) where error.code == .notFound: break
    case .store(let error) where error.code == .archived || error.code == .accessDenied:
      summary.leftOut.append(.init(key: key, reason: error.message))
    case .store(let error): summary.failures.append(.init(key: key, reason: error.description))
    case .file(let path, let error): summary.failures.append(.init(key: key, reason: "\(path): \(error)"))
    }
  }

  private func done(with object: ListedObject, _ change: (inout State) -> Void) {
    let progress = state.withLock { state in
      change(&state)
      state.progress.doneObjects += 1
      state.progress.doneBytes = state.progress.doneBytes.addingSaturating(object.revision.size)
      return state.progress
    }
    self.progress(progress)
  }

  private func isThere(_ entry: SeedEntry) -> Bool {
    let file = try? FileSystem.attributes(Seed.path(of: entry.sha256, in: directory))
    return file?.kind == .file && file?.size == entry.revision.size
  }

  private func fetch(_ key: ObjectKey) async throws(SeedFailure) -> SeedEntry {
    let temporary = "\(directory)/objects/.\(ThisProcess.identifier)-\(UInt64.random(in: 0 ... .max)).part"
    defer { try? FileSystem.removeFile(temporary) }
    let sink: SeedSink
    do throws(Errno) { sink = SeedSink(try File.open(temporary, .write, create: 0o644)) } catch {
      throw .file(temporary, error)
    }
    do throws(StoreError) { _ = try await store.get(GetRequest(key: key), into: sink) } catch { throw .store(error) }
    do throws(Errno) {
      let (metadata, sha256) = try sink.finish()
      let path = Seed.path(of: sha256, in: directory)
      if let parent = FileSystem.parent(of: path) { try FileSystem.makeDirectory(parent, mode: 0o755) }
      try FileSystem.rename(temporary, to: path)
      return SeedEntry(key: key, revision: metadata.revision, storageClass: metadata.storageClass, sha256: sha256)
    } catch { throw .file(temporary, error) }
  }

  // MARK: The end

  private func finish(_ created: WallTime) throws(SeedFailure) -> SeedSummary {
    var (entries, summary) = state.withLock { ($0.entries, $0.summary) }
    entries.sort { $0.key < $1.key }
    summary.objects = entries.count
    summary.bytes = entries.reduce(0) { $0 + $1.revision.size }
    let manifest = SeedManifest(source: source, prefix: prefix, created: created, entries: entries)
    let isWhole = summary.failures.isEmpty
    let path = directory + (isWhole ? "/manifest" : "/manifest.part")
    do throws(Errno) {
      try FileSystem.write(manifest.bytes, to: path, mode: 0o644)
      if isWhole {
        try FileSystem.removeFile(directory + "/manifest.part")
        try sweep(Set(entries.map(\.sha256)))
      }
    } catch { throw .file(path, error) }
    return summary
  }

  /// Removes what no entry has any more.
  private func sweep(_ kept: Set<[UInt8]>) throws(Errno) {
    for name in try FileSystem.list(directory + "/objects") {
      let path = "\(directory)/objects/\(name)"
      guard try FileSystem.attributes(path).kind == .directory else {
        try FileSystem.removeFile(path)
        continue
      }
      for file in try FileSystem.list(path) {
        let digest = bytes(hexadecimal: Array(file.utf8))
        if digest.map({ !kept.contains($0) }) ?? true { try FileSystem.removeFile("\(path)/\(file)") }
      }
    }
  }
}

/// One body on its way into a file.
private final class SeedSink: ObjectSink {
  private struct State: ~Copyable {
    let digest = Digest(.sha256)
    var position: Int64 = 0
    var metadata: ObjectMetadata?
    var failure: Errno?
  }
  private let file: File
  private let state = Mutex(State())

  init(_ file: File) { self.file = file }

  func begin(_ head: ObjectHead) -> Bool {
    state.withLock { $0.metadata = head.metadata }
    return head.isWhole
  }

  func receive(_ bytes: RawSpan) -> Bool {
    let position = state.withLock { state in
      state.digest.update(bytes)
      defer { state.position += Int64(bytes.byteCount) }
      return state.position
    }
    do throws(Errno) { try file.write(bytes, at: position) } catch {
      state.withLock { $0.failure = error }
      return false
    }
    return true
  }

  /// EIO where the body was not the whole object.
  func finish() throws(Errno) -> (ObjectMetadata, sha256: [UInt8]) {
    let (metadata, position, failure, sha256) = state.withLock {
      ($0.metadata, $0.position, $0.failure, $0.digest.finish())
    }
    if let failure { throw failure }
    guard let metadata, position == metadata.revision.size else { throw Errno.inputOutput }
    return (metadata, sha256)
  }
}
