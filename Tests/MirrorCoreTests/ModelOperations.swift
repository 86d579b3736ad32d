// What readers do with names and files, as the kernel asks it; each answer goes to the judge.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

@testable import MirrorCore

extension ModelRun {
  func begin(_ words: String, _ key: [UInt8]) -> ModelOperation {
    operations += 1
    pending += 1
    return ModelOperation(
      words: words, key: key, started: time.now,
      isPromised: judge.promised[key].map { time.now + .milliseconds(1) < $0 } ?? false,
      wasOffline: mirror.store.offlineSince != nil, wasLate: mirror.store.isLate, sent: store.sentCount)
  }

  func judging(_ operation: ModelOperation, _ body: () throws(ModelVerdict) -> Void) {
    pending -= 1
    // Who dies with the process is told nothing.
    if isEnding { return }
    do { try body() } catch { fail("\(operation.words): \(error.message)") }
  }

  func recent(_ operation: ModelOperation) -> [Asked] {
    store.recent(since: operation.started + .milliseconds(-program.settings.negative - 300))
  }

  // MARK: Names

  /// Looks a path up, name by name.
  func walk(_ path: [UInt8], keep: Bool) {
    step(path, from: 0, in: .root, keep: keep)
  }

  private func step(_ path: [UInt8], from start: Int, in parent: NodeID, keep: Bool) {
    guard start <= path.count, !path.isEmpty else { return }
    let end = path[start...].firstIndex(of: 0x2F) ?? path.count
    let name = Array(path[start..<end])
    guard !name.isEmpty, !name.elementsEqual([0x2E]), !name.elementsEqual([0x2E, 0x2E]) else { return }
    let key = Array(path[..<end])
    let operation = begin("\(ModelStep.look(key))", key)
    let (isInPlace, mirror) = (Once(), mirror)
    mirror.lookUp(name, in: parent) { [self] answer in
      let now = time.now
      arrive { [self] in
        guard mirror === self.mirror else { return }
        told(answer, operation, now, wasInPlace: isInPlace.isSet, path, end, keep: keep)
      }
      return true
    }
    // Answers from now on are not in place.
    handleArrivals(isInPlace)
    if operation.isPromised, store.sentCount != operation.sent { fail("\(operation.words): asked within the window") }
  }

  private func handleArrivals(_ inPlace: Once) {
    inPlace.set()
    handleArrivals()
    inPlace.clear()
  }

  private func told(
    _ answer: LookupAnswer, _ operation: ModelOperation, _ now: Instant, wasInPlace: Bool, _ path: [UInt8], _ end: Int,
    keep: Bool
  ) {
    judging(operation) { () throws(ModelVerdict) in
      if operation.isPromised, !wasInPlace, failure == nil {
        throw ModelVerdict(message: "not answered from memory, though it is fresh")
      }
      let (history, recent) = (store.history, recent(operation))
      let nameLength = operation.key.count - (operation.key.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)
      switch answer {
      case .failed(.nameTooLong) where nameLength > 255: return
      case .failed(let errno):
        try judge.check(errno, operation, now)
        if errno != .accessDenied { try judge.checkKept(operation, store.down) }
      case .absent(let timeout):
        try judge.checkKept(operation, store.down)
        try judge.absent(timeout: timeout, operation, now, history, recent)
      case .found(let entry) where entry.attributes.isDirectory:
        mirror.forget(entry.attributes.node, count: 1)
        try judge.foundDirectory(operation, now, history)
        if end < path.count { step(path, from: end + 1, in: entry.attributes.node, keep: keep) }
      case .found(let entry):
        let attributes = entry.attributes
        let number = version(of: attributes.node)
        let isKept = keep && end == path.count && number > 0
        defer { if !isKept { mirror.forget(attributes.node, count: 1) } }
        if isKept {
          handles.append(
            ModelHandle(key: operation.key, node: attributes.node, version: number, inode: attributes.inode))
        }
        try judge.found(
          number, size: attributes.size, timeout: entry.entryTimeout, state: stateOf(attributes.node), operation, now,
          history, recent)
      }
    }
  }

  func version(of node: NodeID) -> Int {
    guard case .success(let tag) = mirror.extendedAttribute("user.s3.etag", of: node) else { return 0 }
    return ObjectRevision(etag: EntityTag(tag), size: 0, modified: nil).modelNumber
  }

  private func stateOf(_ node: NodeID) -> String? {
    guard case .success(let state) = mirror.extendedAttribute("user.s3mirror.state", of: node) else { return nil }
    return String(decoding: state, as: UTF8.self)
  }

  // MARK: Open files

  /// 0 is the newest.
  private func handle(_ place: Int) -> Int? {
    let open = handles.indices.filter { handles[$0].isOpen }
    return open.isEmpty ? nil : open[open.count - 1 - place % open.count]
  }

  func read(_ place: Int, _ offset: Int, _ count: Int) {
    guard let index = handle(place) else { return }
    let handle = handles[index]
    let operation = begin("read \(ModelStep.look(handle.key)) version \(handle.version) \(offset)+\(count)", handle.key)
    let mirror = mirror
    pendingReads += 1
    mirror.read(handle.node, offset: Int64(offset), count: count) { [self] answer in
      let bytes = answer.content
      let now = time.now
      arrive { [self] in
        guard mirror === self.mirror else { return }
        pendingReads -= 1
        didRead(bytes, operation, now, index, offset, count)
      }
    }
  }

  private func didRead(
    _ result: Result<[UInt8], Errno>, _ operation: ModelOperation, _ now: Instant, _ index: Int, _ offset: Int,
    _ count: Int
  ) {
    judging(operation) { () throws(ModelVerdict) in
      let version = store.history.versions[handles[index].version - 1]
      let range = min(offset, version.size)..<min(version.size, offset + count)
      switch result {
      case .success(let bytes):
        guard same(bytes, version.body[range]) else {
          throw ModelVerdict(
            message: "\(bytes.count) bytes that are not those of the version, which are \(range.count)")
        }
        handles[index].read.append(range)
        if range == 0..<version.size { judge.read(version.number, version.key) }
      case .failure(let errno):
        if program.settings.limit == 1 << 30, handles[index].isOpen,
          handles[index].read.contains(where: { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
          )
        {
          throw ModelVerdict(message: "failed with \(errno), though it had been read before")
        }
        // After a restart what has no content yet is taken for a copy of unknown headers, and asked for sooner.
        judge.promised[version.key] = nil
        try judgeRead(errno, version, operation, now)
      }
    }
  }

  private func judgeRead(
    _ errno: Errno, _ version: BucketHistory.Version, _ operation: ModelOperation, _ now: Instant
  ) throws(ModelVerdict) {
    if errno == .stale {
      judge.disturb(version.key, now)
      guard version.ended(from: .distantPast, to: now) else {
        throw ModelVerdict(message: "ESTALE, though the version is current")
      }
      return
    }
    try judge.check(errno, operation, now, isRead: true)
  }

  /// What was given out as a whole stays as it is.
  func openWhole(_ place: Int) {
    guard let index = handle(place) else { return }
    let handle = handles[index]
    if let whole = handle.whole { return checkWhole(whole.file, handle) }
    let operation = begin("whole \(ModelStep.look(handle.key)) version \(handle.version)", handle.key)
    let mirror = mirror
    mirror.open(handle.node) { [self] answer in
      let now = time.now
      arrive { [self] in
        guard mirror === self.mirror else { return }
        judging(operation) { () throws(ModelVerdict) in
          switch answer {
          case .byReading: break
          case .failed(let errno): try judgeRead(errno, store.history.versions[handle.version - 1], operation, now)
          case .whole(let file, let lease):
            if handles.indices.contains(index), handles[index].isOpen { handles[index].whole = (file, lease) }
            checkWhole(file, handle)
          }
        }
      }
    }
  }

  private func checkWhole(_ file: File, _ handle: ModelHandle) {
    let version = store.history.versions[handle.version - 1]
    guard let bytes = try? file.read(at: 0, count: version.size + 1), same(bytes, version.body[...]) else {
      return fail("whole \(ModelStep.look(handle.key)): not the bytes of version \(version.number)")
    }
  }

  func stat(_ place: Int) {
    guard let index = handle(place) else { return }
    operations += 1
    let handle = handles[index]
    let version = store.history.versions[handle.version - 1]
    guard let (attributes, _) = mirror.attributes(of: handle.node) else {
      return fail("stat \(ModelStep.look(handle.key)): the node is not known")
    }
    guard attributes.size == version.size, attributes.inode == handle.inode,
      version.modified.contains(attributes.modified), self.version(of: handle.node) == handle.version
    else { return fail("stat \(ModelStep.look(handle.key)): \(attributes) is not version \(handle.version)") }
  }

  func close(_ place: Int) {
    guard let index = handle(place) else { return }
    operations += 1
    release(index)
  }

  func release(_ index: Int) {
    guard handles[index].isOpen else { return }
    handles[index].isOpen = false
    handles[index].whole = nil
    mirror.forget(handles[index].node, count: 1)
  }

  private func same(_ bytes: [UInt8], _ expected: ArraySlice<UInt8>) -> Bool {
    bytes.count == expected.count
      && bytes.withUnsafeBytes { a in
        expected.withUnsafeBytes { b in
          guard let a = a.baseAddress, let b = b.baseAddress else { return true }
          return memcmp(a, b, bytes.count) == 0
        }
      }
  }
}

/// Whether what happens now happens in place.
final class Once: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
  func clear() { state.withLock { $0 = false } }
}

extension ReadAnswer {
  /// The bytes, read at once.
  var content: Result<[UInt8], Errno> {
    switch self {
    case .bytes(let bytes): .success(bytes)
    case .failed(let errno): .failure(errno)
    case .extent(let file, let offset, let count):
      Result { () throws(Errno) in try file.read(at: offset, count: count) }
    }
  }
}
