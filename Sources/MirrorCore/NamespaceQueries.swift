// Small questions to the namespace, and small notes in it.
import MirrorCache
import MirrorPlatform
import MirrorStore

extension Namespace {
  /// The directory that a node number stands for.
  func directoryIndex(_ id: NodeID) -> Int? {
    guard let index = nodes.index(id), nodes[index].role == .directory else { return nil }
    return Int(nodes[index].directory)
  }

  /// The slot of a name that exists.
  func slot(of id: NameID) -> Int? {
    guard let slot = directories[id.directory].table.find(id.name[...]),
      directories[id.directory].table[slot].kind != .none
    else { return nil }
    return slot
  }

  /// The slot of a name that is a file.
  func fileSlot(of id: NameID) -> Int? {
    guard let slot = slot(of: id), directories[id.directory].table[slot].kind == .file else { return nil }
    return slot
  }

  /// Whether a look-up of the name can be answered now.
  func canAnswer(_ id: NameID, _ now: Instant) -> Bool {
    guard let slot = slot(of: id) else { return false }
    if directories[id.directory].table[slot].kind == .directory { return true }
    return isFresh(id.directory, slot, now) && !needsDescription(id.directory, slot)
      && !needsRecall(id.directory, slot)
  }

  func absenceLeft(_ id: NameID, _ now: Instant) -> Duration { max(.zero, (absent[id] ?? now) - now) }

  /// The first name on a path that is not there, as far as is known; nil where all are, or a file stands in the way.
  func firstUnknown(on path: ArraySlice<UInt8>) -> NameID? {
    var directory = 0
    for name in path.split(separator: 0x2F) {
      let id = NameID(directory: directory, name: Array(name))
      guard slot(of: id) != nil else { return id }
      guard let next = subdirectory(directory, name) else { return nil }
      directory = next
    }
    return nil
  }

  /// A path that would be answered with ENOENT from memory.
  func isKnownAbsent(_ path: ArraySlice<UInt8>, _ now: Instant) -> Bool {
    guard let id = firstUnknown(on: path) else { return false }
    return absent[id].map { $0 > now } ?? hasFreshListing(id.directory, now)
  }

  mutating func noteAnswered(_ directory: Int, _ slot: Int, _ now: Instant) {
    directories[directory].table.update(slot) { $0.noteAnswered(now) }
  }

  /// Whether the cache holds bytes of a name's revision.
  mutating func noteCached(_ directory: Int, _ slot: Int, _ cached: Bool) {
    directories[directory].table.update(slot) {
      $0.recalled = true
      $0.cached = cached
    }
  }

  /// Nobody has a file any more: what may not be kept goes.
  mutating func noteUnused(_ id: FileID) {
    let (directory, slot) = (Int(id.directory), Int(id.slot))
    if mayNotKeep(directory, slot) { noteCached(directory, slot, false) }
  }

  mutating func noteRecalled(_ directory: Int, _ slot: Int) {
    directories[directory].table.update(slot) { $0.recalled = true }
  }

  /// A GET shows another ETag than the listing did for what is plainly the same object.
  mutating func noteTagDifference(_ id: NameID, _ seen: ObjectRevision) {
    guard !listedTagsDiffer, let slot = fileSlot(of: id) else { return }
    let entry = directories[id.directory].table[slot]
    let known = entry.revision
    if entry.listedOnly, known.etag != nil, known.etag != seen.etag, known.size == seen.size,
      known.modified != nil, known.modified == seen.modified
    {
      listedTagsDiffer = true
      effects.lacks.append(.listedTags)
    }
  }

  /// Asks the kernel to give a file back as soon as nobody has it open.
  mutating func askToForget(_ directory: Int, _ slot: Int) {
    guard directories[directory].table[slot].link != 0 else { return }
    effects.notices.append(
      .invalidate(nodes.id(directories[directory].node), Array(directories[directory].table.name(slot))))
  }

  /// The kernel gives look-ups back. Returns the place of a node that nobody uses any more.
  mutating func forget(_ id: NodeID, count: UInt64) -> (index: UInt32, node: Node)? {
    guard let index = nodes.index(id) else { return nil }
    let node = nodes[index]
    guard nodes.release(index, count: count), node.role != .directory else { return nil }
    if node.role == .file {
      directories[Int(node.directory)].table.update(Int(node.slot)) { $0.link = 0 }
    }
    nodes.remove(index)
    return (index, node)
  }

  /// Marks a name, or all names of a directory and below, as stale; the number of files and listings marked. `told`
  /// when somebody said so.
  mutating func expire(_ directory: Int, _ name: ArraySlice<UInt8>? = nil, told: Instant? = nil) -> Int {
    if let name {
      guard let slot = directories[directory].table.find(name) else { return 0 }
      // After a restart a listing would vouch for all names that were in it.
      forgetListing(directory)
      return expire(directory, slot: slot, told)
    }
    var count = directories[directory].hasListing ? 1 : 0
    directories[directory].expireListing(effects.clocks.now)
    for slot in 0..<directories[directory].table.count { count += expire(directory, slot: slot, told) }
    return count
  }

  /// When a directory was listed, in the catalogue only.
  mutating func forgetListing(_ directory: Int) {
    guard directories[directory].hasListing else { return }
    effects.changes.append(.directory(ObjectKey(directories[directory].key), listed: WallTime(milliseconds: 0)))
  }

  private mutating func expire(_ directory: Int, slot: Int, _ told: Instant?) -> Int {
    let entry = directories[directory].table[slot]
    if entry.kind == .directory { return expire(Int(entry.link), told: told) }
    guard entry.kind == .file else { return 0 }
    directories[directory].table.update(slot) { $0.expire(told: told) }
    expireForKernel(directory, slot)
    return 1
  }

  /// The kernel asks for a file's name again at its next use.
  mutating func expireForKernel(_ directory: Int, _ slot: Int) {
    guard directories[directory].table[slot].link != 0 else { return }
    effects.notices.append(
      .expire(nodes.id(directories[directory].node), Array(directories[directory].table.name(slot))))
  }

  /// Other rules from now on. What the kernel was told of files by the old ones is told anew at their next use.
  mutating func replaceRules(_ new: FreshnessRules) {
    rules = new
    _ = expireAbsences(below: [])
    for directory in directories.indices {
      for slot in 0..<directories[directory].table.count where directories[directory].table[slot].kind == .file {
        expireForKernel(directory, slot)
      }
    }
  }

  /// An absent name, or those below a directory (or all), are unknown again; their number.
  mutating func expireAbsences(below key: [UInt8]) -> Int {
    let start = key.isEmpty || key.last == 0x2F ? key : key + [0x2F]
    let meant = absent.keys.filter { id in
      let absent = directories[id.directory].key + id.name
      return absent == key || absent.starts(with: start)
    }
    for id in meant { forgetAbsence(id.directory, id.name[...]) }
    return meant.count
  }
}
