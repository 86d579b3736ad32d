// The tree as it is known, for programs that look at everything: whatever they do, no request is sent.
import MirrorCache
public import MirrorPlatform
import MirrorStore
import Synchronization

/// Answers from memory, catalogue and cache, however old they are; what is in none of these is EACCES, and a
/// directory shows the names that are known. Nodes and handles are those of the mirror itself.
public final class QuietView: FileTree {
  let mirror: BucketMirror

  public init(of mirror: BucketMirror) { self.mirror = mirror }

  public func lookUp(_ name: [UInt8], in parent: NodeID, reply: @escaping @Sendable (LookupAnswer) -> Bool) {
    guard name.count <= 255 else {
      _ = reply(.failed(.nameTooLong))
      return
    }
    if let answer = knowledge(name, parent, isRecalled: false) { return deliver(answer, reply) }
    Task {
      if let directory = mirror.state.withLock({ $0.namespace.directoryIndex(parent) }) {
        await mirror.recall(NameID(directory: directory, name: name))
      }
      deliver(knowledge(name, parent, isRecalled: true) ?? .failed(.accessDenied), reply)
    }
  }

  /// What is known of a name; nil when only the catalogue may know.
  private func knowledge(_ name: [UInt8], _ parent: NodeID, isRecalled: Bool) -> LookupAnswer? {
    mirror.change { state, now in
      guard let directory = state.namespace.directoryIndex(parent) else { return .failed(.stale) }
      let id = NameID(directory: directory, name: name)
      if let slot = state.namespace.slot(of: id) {
        if !state.namespace.canAnswer(id, now) { state.served.stale += 1 }
        return state.namespace.answer(directory, slot, now: now)
      }
      let known = state.namespace.directories[directory]
      if state.namespace.absent[id] == nil, !known.loaded, !isRecalled { return nil }
      // An absence that is no longer fresh is still the latest that was heard.
      guard state.namespace.absent[id] != nil || known.hasListing else { return .failed(.accessDenied) }
      return state.count(.absent(timeout: state.namespace.absenceLeft(id, now)))
    }
  }

  private func deliver(_ answer: LookupAnswer, _ reply: (LookupAnswer) -> Bool) {
    if !reply(answer), case .found(let entry) = answer { mirror.forget(entry.attributes.node, count: 1) }
  }

  public func openDirectory(_ node: NodeID, reply: @escaping @Sendable (Result<OpenedDirectory, Errno>) -> Void) {
    guard let directory = mirror.state.withLock({ $0.namespace.directoryIndex(node) }) else {
      return reply(.failure(.stale))
    }
    Task {
      await mirror.load(directory: directory)
      reply(.success(mirror.opened(node)))
    }
  }

  public func readDirectory(
    _ node: NodeID, handle: UInt64, offset: UInt64, plus: Bool, into collector: any DirectoryCollector
  ) {
    let reader = ListingFlight.Reader(node: node, offset: offset, plus: plus, collector: collector)
    let (added, error) = mirror.change { state, now -> ([NodeID], Errno?) in
      guard let directory = state.namespace.directoryIndex(node) else { return ([], .stale) }
      return (state.namespace.collect(directory, reader, now).added, nil)
    }
    if !collector.finish(error), plus { for node in added { mirror.forget(node, count: 1) } }
  }

  public func read(_ node: NodeID, offset: Int64, count: Int, reply: @escaping @Sendable (ReadAnswer) -> Void) {
    guard let content = content(of: node) else { return mirror.read(node, offset: offset, count: count, reply: reply) }
    let range = offset..<max(offset, min(content.revision.size, offset + Int64(count)))
    if range.isEmpty { return reply(.bytes([])) }
    if let file = content.file, let blob = file.readable(range) { return file.answer(range, from: blob, reply) }
    Task {
      guard let blob = await mirror.cache.find(content.key, content.revision), blob.isReadable(range),
        let file = try? blob.file()
      else { return reply(.failed(.accessDenied)) }
      reply(.extent(file, offset: range.lowerBound, count: range.count))
    }
  }

  public func open(_ node: NodeID, reply: @escaping @Sendable (OpenAnswer) -> Void) {
    guard let content = content(of: node) else { return reply(.byReading) }
    if let file = content.file { return reply(file.whole() ?? .byReading) }
    Task {
      let blob = await mirror.cache.find(content.key, content.revision)
      reply(blob.flatMap(OpenAnswer.init(whole:)) ?? .byReading)
    }
  }

  /// The revision behind a node; nil for a node that is no file, which no request is sent for.
  private func content(of node: NodeID) -> (key: ObjectKey, revision: ObjectRevision, file: MirroredFile?)? {
    mirror.state.withLock { state in
      guard let index = state.namespace.nodes.index(node) else { return nil }
      let place = state.namespace.nodes[index]
      let (directory, slot) = (Int(place.directory), Int(place.slot))
      switch place.role {
      case .file:
        let revision = state.namespace.directories[directory].table[slot].revision
        return (state.namespace.key(directory, slot), revision, state.files[FileID(directory, slot)])
      case .superseded:
        guard let old = state.namespace.nodes.superseded[index] else { return nil }
        return (old.key, old.revision, state.superseded[index])
      case .directory, .free: return nil
      }
    }
  }

  // What is always answered from memory.
  public func attributes(of node: NodeID) -> (NodeAttributes, timeout: Duration)? { mirror.attributes(of: node) }
  public func parent(of directory: NodeID) -> NodeID? { mirror.parent(of: directory) }
  public func isFile(_ name: [UInt8], in parent: NodeID) -> Bool { mirror.isFile(name, in: parent) }
  public func forget(_ node: NodeID, count: UInt64) { mirror.forget(node, count: count) }
  public func closeDirectory(_ node: NodeID, handle: UInt64) { mirror.closeDirectory(node, handle: handle) }
  public func extendedAttribute(_ name: String, of node: NodeID) -> Result<[UInt8], Errno> {
    mirror.extendedAttribute(name, of: node)
  }
  public func extendedAttributeNames(of node: NodeID) -> [String] { mirror.extendedAttributeNames(of: node) }
}

extension MirroredFile {
  /// The blob, if the range is in it and may be shown.
  fileprivate func readable(_ range: Range<Int64>) -> Blob? {
    state.withLock { $0.store == .ready && $0.isReadable(range) ? $0.blob : nil }
  }
}
