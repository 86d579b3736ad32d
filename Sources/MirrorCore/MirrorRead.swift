// READ, FORGET and GETATTR, and what becomes of content.
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror: FileOwner {
  public func read(_ node: NodeID, offset: Int64, count: Int, reply: @escaping @Sendable (ReadAnswer) -> Void) {
    switch content(of: node, fromStart: offset == 0) {
    case .success((let file, let ahead)):
      file.read(offset, count, reply: reply)
      fetch(ahead)
    case .failure(let error): reply(.failed(error))
    }
  }

  /// The content behind a node that is being used, and what its reader will want next.
  func content(of node: NodeID, fromStart: Bool) -> Result<(MirroredFile, ahead: [MirroredFile]), Errno> {
    state.withLock { state in
      guard let index = state.namespace.nodes.index(node) else { return .failure(.stale) }
      let place = state.namespace.nodes[index]
      switch place.role {
      case .directory: return .failure(.isDirectory)
      case .file:
        let id = FileID(Int(place.directory), Int(place.slot))
        state.noteUse(Int(place.directory), Int(place.slot), clock.now())
        let ahead = fromStart ? filesAhead(of: id, &state) : []
        return .success((content(id, &state), ahead))
      case .superseded:
        if let file = state.superseded[index] { return .success((file, [])) }
        guard let old = state.namespace.nodes.superseded[index] else { return .failure(.stale) }
        let file = supersededContent(old.key, old.revision, FileID(Int(place.directory), Int(place.slot)), state)
        state.superseded[index] = file
        return .success((file, []))
      case .free: return .failure(.stale)
      }
    }
  }

  /// The content of a revision that was replaced, and may be the current one again.
  private func supersededContent(
    _ key: ObjectKey, _ revision: ObjectRevision, _ id: FileID, _ state: borrowing State
  ) -> MirroredFile {
    if let (directory, slot) = state.namespace.place(of: key), let slot,
      let file = state.files[FileID(directory, slot)], file.revision.sameBytes(as: revision)
    {
      return file
    }
    if let file = state.supersededFile(key, revision) { return file }
    let file = MirroredFile(id: id, key: key, revision: revision, sources: sources, owner: self)
    file.supersede()
    return file
  }

  func fetch(_ ahead: [MirroredFile]) {
    for file in ahead { Task { await fetchAhead(file) } }
  }

  public func attributes(of node: NodeID) -> (NodeAttributes, timeout: Duration)? {
    state.withLock { $0.namespace.attributes(of: node) }.map { ($0, Namespace.longestTimeout) }
  }

  public func parent(of directory: NodeID) -> NodeID? {
    state.withLock { state in
      guard let index = state.namespace.directoryIndex(directory), index != 0 else { return nil }
      return state.namespace.nodes.id(state.namespace.directories[state.namespace.directories[index].parent].node)
    }
  }

  public func isFile(_ name: [UInt8], in parent: NodeID) -> Bool {
    state.withLock { state in
      guard let directory = state.namespace.directoryIndex(parent) else { return false }
      return state.namespace.fileSlot(of: NameID(directory: directory, name: name)) != nil
    }
  }

  public func forget(_ node: NodeID, count: UInt64) {
    // The file is released after the lock: its end may touch the cache.
    let released = state.withLock { state -> MirroredFile? in
      guard let (index, node) = state.namespace.forget(node, count: count) else { return nil }
      if let old = state.superseded.removeValue(forKey: index) { return old }
      let id = FileID(Int(node.directory), Int(node.slot))
      guard node.role == .file, let file = state.files[id], file.mayBeLetGo() else { return nil }
      state.namespace.noteUnused(id)
      return state.files.removeValue(forKey: id)
    }
    _ = released
  }

  func fileFetched(_ file: MirroredFile) { state.withLock { $0.served.fetched += 1 } }

  func fileComplete(_ file: MirroredFile) {
    let released = change { state, _ -> MirroredFile? in
      let id = file.id
      guard state.files[id] === file else { return nil }
      let (directory, slot) = (Int(id.directory), Int(id.slot))
      state.namespace.noteCached(directory, slot, true)
      if state.namespace.mayNotKeep(directory, slot) { state.namespace.askToForget(directory, slot) }
      return state.takeUnused(id)
    }
    _ = released
  }

  func fileUnused(_ file: MirroredFile) {
    let released = state.withLock { state in
      let id = file.id
      return state.files[id] === file ? state.takeUnused(id) : nil
    }
    _ = released
  }

  func revisionGone(_ file: MirroredFile) {
    change { state, _ in
      let id = file.id
      guard state.files[id] === file else { return }
      let (directory, slot) = (Int(id.directory), Int(id.slot))
      _ = state.namespace.expire(directory, state.namespace.directories[directory].table.name(slot))
    }
  }

  func contentDamaged(_ file: MirroredFile) {
    let nodes = state.withLock { state -> [NodeID] in
      var users = state.superseded.filter { $0.value === file }.map(\.key)
      let id = file.id
      if state.files[id] === file {
        users.append(state.namespace.directories[Int(id.directory)].table[Int(id.slot)].link)
      }
      return users.filter { $0 != 0 }.map(state.namespace.nodes.id)
    }
    let notices = notices.withLock { $0 }
    for node in nodes { notices?.forgetContent(of: node) }
  }

  func askToForget(_ keys: [ObjectKey]) {
    let names = state.withLock { state in
      keys.compactMap { key -> (NodeID, [UInt8])? in
        guard let (directory, slot) = state.namespace.place(of: key), let slot else { return nil }
        let node = state.namespace.directories[directory].node
        return (state.namespace.nodes.id(node), Array(state.namespace.directories[directory].table.name(slot)))
      }
    }
    guard let notices = notices.withLock({ $0 }) else { return }
    for (parent, name) in names { notices.invalidate(name, in: parent) }
  }
}

extension BucketMirror.State {
  /// The content of a file that the kernel does not know: its blob may be evicted. To be released outside the lock.
  mutating func takeUnused(_ id: FileID) -> MirroredFile? {
    guard namespace.directories[Int(id.directory)].table[Int(id.slot)].link == 0 else { return nil }
    namespace.noteUnused(id)
    return files.removeValue(forKey: id)
  }
}

extension Namespace {
  /// The directory of a key as far as it is known, and the slot of its last name there.
  func place(of key: ObjectKey) -> (directory: Int, slot: Int?)? {
    guard key.bytes.starts(with: directories[0].key) else { return nil }
    return place(ofPath: key.bytes[prefixLength...])
  }

  /// The same for a path relative to the mount root; nil when a directory on the way is not known.
  func place(ofPath path: ArraySlice<UInt8>) -> (directory: Int, slot: Int?)? {
    var directory = 0
    let names = path.split(separator: 0x2F)
    for name in names.dropLast() {
      guard let next = subdirectory(directory, name) else { return nil }
      directory = next
    }
    guard let last = names.last else { return (0, nil) }
    guard let slot = directories[directory].table.find(last), directories[directory].table[slot].kind != .none else {
      return nil
    }
    return (directory, slot)
  }
}
