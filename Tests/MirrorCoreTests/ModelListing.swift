// What readers do with directories, as the kernel asks it; each answer goes to the judge.
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

@testable import MirrorCore

extension ModelRun {
  /// Looks the directory up without a judgement, as whoever stands in it has, and reads it.
  func list(_ path: [UInt8], plus: Bool) {
    let node = mirror.state.withLock { state -> NodeID? in
      var directory = 0
      for name in path.split(separator: 0x2F) {
        guard let child = state.namespace.subdirectory(directory, name) else { return nil }
        directory = child
      }
      return state.namespace.nodes.id(state.namespace.directories[directory].node)
    }
    guard let node else { return walk(path, keep: false) }
    openDirectory(path, node, plus: plus)
  }

  private func openDirectory(_ path: [UInt8], _ node: NodeID, plus: Bool) {
    let operation = begin("list \(ModelStep.look(path))", path)
    let mirror = mirror
    mirror.openDirectory(node) { [self] result in
      let now = time.now
      arrive { [self] in
        guard mirror === self.mirror else { return }
        switch result {
        case .failure(let errno):
          judging(operation) { () throws(ModelVerdict) in try judge.check(errno, operation, now) }
        case .success(let opened):
          readDirectory(node, opened.handle, 0, plus: plus, [], operation)
        }
      }
    }
  }

  private func readDirectory(
    _ node: NodeID, _ handle: UInt64, _ offset: UInt64, plus: Bool, _ sofar: [ModelListing.Name],
    _ operation: ModelOperation
  ) {
    let mirror = mirror
    let part = ModelListing(room: 7, clock: time.clock) { [self] part, errno in
      let now = time.now
      arrive { [self] in
        guard mirror === self.mirror else { return }
        if let errno {
          mirror.closeDirectory(node, handle: handle)
          return judging(operation) { () throws(ModelVerdict) in try judge.check(errno, operation, now) }
        }
        let (names, end) = part.content
        guard names.isEmpty else {
          return readDirectory(node, handle, end, plus: plus, sofar + names, operation)
        }
        mirror.closeDirectory(node, handle: handle)
        judging(operation) { () throws(ModelVerdict) in try judgeListing(sofar, operation, now) }
      }
    }
    mirror.readDirectory(node, handle: handle, offset: offset, plus: plus, into: part)
  }

  private func judgeListing(
    _ names: [ModelListing.Name], _ operation: ModelOperation, _ now: Instant
  ) throws(ModelVerdict) {
    let (history, recent) = (store.history, recent(operation))
    var files: Set<[UInt8]> = []
    var directories: Set<[UInt8]> = []
    defer { for name in names { if let node = name.node { mirror.forget(node, count: 1) } } }
    for name in names {
      guard !files.contains(name.bytes), !directories.contains(name.bytes) else {
        throw ModelVerdict(message: "\(ModelStep.look(name.bytes)) is listed twice")
      }
      guard ModelJudge.isName(name.bytes) else {
        throw ModelVerdict(message: "\(ModelStep.look(name.bytes)) is no name")
      }
      if name.isDirectory { directories.insert(name.bytes) } else { files.insert(name.bytes) }
    }
    try judge.listed(files: files, directories: directories, operation, now, history, recent)
    let base = operation.key.isEmpty ? [] : operation.key + [0x2F]
    for name in names {
      guard let node = name.node, !name.isDirectory else { continue }
      let file = ModelOperation(
        words: operation.words, key: base + name.bytes, started: operation.started, isPromised: false,
        wasOffline: operation.wasOffline, wasLate: operation.wasLate, sent: 0)
      // What it stood for when it was told: the node never changes.
      try judge.found(
        version(of: node), size: name.size, timeout: name.timeout, state: nil, file, name.at, history, recent,
        isListing: true)
    }
  }
}

/// What one READDIR or READDIRPLUS was told.
final class ModelListing: DirectoryCollector {
  struct Name: Sendable {
    let bytes: [UInt8]
    let isDirectory: Bool
    /// Counted as looked up.
    var node: NodeID?
    var size: Int64 = 0
    var timeout = Duration.zero
    /// When it was told.
    let at: Instant
  }
  private let clock: any Clock
  private let state = Mutex<(names: [Name], offset: UInt64)>(([], 0))
  private let room: Int
  private let done: @Sendable (ModelListing, Errno?) -> Void

  init(room: Int, clock: any Clock, _ done: @escaping @Sendable (ModelListing, Errno?) -> Void) {
    self.clock = clock
    self.room = room
    self.done = done
  }

  var content: (names: [Name], offset: UInt64) { state.withLock { $0 } }

  func add(name: ArraySlice<UInt8>, entry: NodeEntry, offset: UInt64) -> Bool {
    let attributes = entry.attributes
    let isCounted = attributes.node.rawValue != 0
    return add(
      Name(
        bytes: Array(name), isDirectory: attributes.isDirectory, node: isCounted ? attributes.node : nil,
        size: attributes.size, timeout: entry.entryTimeout, at: clock.now()), offset)
  }

  func add(name: Span<UInt8>, plain entry: PlainEntry, offset: UInt64) -> Bool {
    add(
      Name(bytes: name.indices.map { name[$0] }, isDirectory: entry.kind == .directory, at: clock.now()), offset)
  }

  private func add(_ name: Name, _ offset: UInt64) -> Bool {
    state.withLock { state in
      guard state.names.count < room else { return false }
      state.names.append(name)
      state.offset = offset
      return true
    }
  }

  func finish(_ error: Errno?) -> Bool {
    done(self, error)
    return true
  }
}
