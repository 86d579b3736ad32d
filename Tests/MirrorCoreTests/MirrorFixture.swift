// A mirror over a bucket in memory and a cache in a temporary directory, asked as the kernel would.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

final class MirrorFixture: Sendable {
  let store: MemoryStore
  let clock: ManualClock
  let directory: TemporaryDirectory
  let cache: Cache
  let mirror: BucketMirror

  /// `origin` stands before `memory`, if anything does.
  init(
    _ rules: FreshnessRules = FreshnessRules(), in directory: TemporaryDirectory? = nil, limit: Int64 = 1 << 30,
    origin: (any ObjectStore)? = nil, memory store: MemoryStore = MemoryStore(), ledger: Ledger? = nil,
    clock: ManualClock = ManualClock(), log: Log = .none, partSize: Int64 = 8 << 20,
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) throws {
    self.store = store
    self.clock = clock
    let directory = try directory ?? TemporaryDirectory("core")
    self.directory = directory
    cache = try Cache.open(
      CacheConfiguration(
        root: directory.path + "/cache", endpoint: "http://test", bucket: "b", prefix: ObjectKey(""), limit: limit,
        minimumFree: 0), clock: clock, log: .none, free: { nil }, synchronize: { _ in true })
    mirror = BucketMirror(
      configuration: MirrorConfiguration(rules: rules, partSize: partSize), store: origin ?? store, cache: cache,
      ledger: ledger ?? Ledger(clock: clock), clock: clock, log: log, sleep: sleep)
  }

  func close() async {
    await mirror.stop()
    await cache.close()
  }

  func lookUp(_ path: String) async -> LookupAnswer { await mirror.lookUp(path) }

  func node(_ path: String) async -> NodeAttributes? {
    if case .found(let entry) = await lookUp(path) { entry.attributes } else { nil }
  }

  func errno(_ path: String) async -> Errno? {
    switch await lookUp(path) {
    case .absent: .noEntry
    case .failed(let errno): errno
    case .found: nil
    }
  }

  /// READ of a node, whole.
  func read(_ node: NodeAttributes) async -> Result<[UInt8], Errno> {
    let answer: ReadAnswer = await withCheckedContinuation { continuation in
      mirror.read(node.node, offset: 0, count: Int(node.size) + 1) { continuation.resume(returning: $0) }
    }
    switch answer {
    case .bytes(let bytes): return .success(bytes)
    case .failed(let errno): return .failure(errno)
    case .extent(let file, let offset, let count):
      do { return .success(try file.read(at: offset, count: count)) } catch { return .failure(error) }
    }
  }

  func read(_ path: String) async -> String? {
    guard let node = await node(path), case .success(let bytes) = await read(node) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The names in a directory, sorted, or the errno.
  func list(_ path: String) async -> Result<[String], Errno> {
    let node = path.isEmpty ? NodeID.root : await node(path)?.node
    guard let node else { return .failure(.noEntry) }
    switch await open(node) {
    case .success(let opened): return await names(node, opened.handle)
    case .failure(let errno): return .failure(errno)
    }
  }

  func open(_ directory: NodeID) async -> Result<OpenedDirectory, Errno> {
    await withCheckedContinuation { continuation in
      mirror.openDirectory(directory) { continuation.resume(returning: $0) }
    }
  }

  /// What an open directory has; closes it.
  func names(_ node: NodeID, _ handle: UInt64) async -> Result<[String], Errno> {
    defer { mirror.closeDirectory(node, handle: handle) }
    var names: [String] = []
    var offset: UInt64 = 0
    while true {
      let from = offset
      let part: Collector = await withCheckedContinuation { continuation in
        let collector = Collector { continuation.resume(returning: $0) }
        mirror.readDirectory(node, handle: handle, offset: from, plus: true, into: collector)
      }
      let (added, end, error) = part.state.withLock { $0 }
      if let error { return .failure(error) }
      if added.isEmpty { return .success(names.sorted()) }
      names += added
      offset = end
    }
  }
}

extension FileTree {
  /// The answer to LOOKUP of a path, name by name.
  func lookUp(_ path: String) async -> LookupAnswer {
    var node = NodeID.root
    var answer = LookupAnswer.absent(timeout: .zero)
    for name in path.split(separator: "/") {
      let parent = node
      answer = await withCheckedContinuation { continuation in
        lookUp(Array(name.utf8), in: parent) {
          continuation.resume(returning: $0)
          return true
        }
      }
      guard case .found(let entry) = answer else { return answer }
      node = entry.attributes.node
    }
    return answer
  }
}

final class Collector: DirectoryCollector {
  let state = Mutex<(names: [String], offset: UInt64, error: Errno?)>(([], 0, nil))
  private let done: @Sendable (Collector) -> Void
  init(_ done: @escaping @Sendable (Collector) -> Void) { self.done = done }

  func add(name: ArraySlice<UInt8>, entry: NodeEntry, offset: UInt64) -> Bool { add(Array(name), offset) }
  func add(name: Span<UInt8>, plain entry: PlainEntry, offset: UInt64) -> Bool {
    add(name.indices.map { name[$0] }, offset)
  }

  private func add(_ name: [UInt8], _ offset: UInt64) -> Bool {
    state.withLock {
      guard $0.names.count < 100 else { return false }
      $0.names.append(String(decoding: name, as: UTF8.self))
      $0.offset = offset
      return true
    }
  }

  func finish(_ error: Errno?) -> Bool {
    state.withLock { $0.error = error }
    done(self)
    return true
  }
}

/// Whether a value is answered within five seconds.
func becomes<Value: Equatable>(_ value: Value, _ ask: () async -> Value?) async -> Bool {
  for _ in 0..<500 {
    if await ask() == value { return true }
    try? await Task.sleep(for: .milliseconds(10))
  }
  return false
}
