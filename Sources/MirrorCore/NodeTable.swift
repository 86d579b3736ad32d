// The kernel's references: which node numbers are out, for what, and how many look-ups each holds.
import MirrorPlatform
import MirrorStore

/// A node's place in the namespace.
struct Node {
  enum Role { case free, directory, file, superseded }
  /// Counts the lives of this place in the table, so that a number is never used twice.
  var generation: UInt32 = 0
  /// A directory's own index, or the index of the directory that holds the file.
  var directory: Int32 = 0
  var slot: Int32 = 0
  var lookups: UInt32 = 0
  var role: Role = .free
  /// A symbolic link, for as long as it lives.
  var isLink = false
}

/// A revision that its name no longer leads to, but that the kernel still uses.
struct SupersededRevision {
  let key: ObjectKey
  let revision: ObjectRevision
  let posix: PosixMetadata?
}

/// Number = generation over index; directories keep theirs for ever, files until the kernel forgets them.
struct NodeTable {
  private var nodes: ContiguousArray<Node> = [Node()]
  private var free: [UInt32] = []
  private(set) var superseded: [UInt32: SupersededRevision] = [:]

  mutating func add(_ role: Node.Role, directory: Int, slot: Int, isLink: Bool = false) -> UInt32 {
    let index: UInt32
    if let reused = free.popLast() {
      index = reused
    } else {
      index = UInt32(nodes.count)
      nodes.append(Node())
    }
    let place = Int(index)
    nodes[place].role = role
    nodes[place].directory = Int32(directory)
    nodes[place].slot = Int32(slot)
    nodes[place].lookups = 0
    nodes[place].isLink = isLink
    return index
  }

  func id(_ index: UInt32) -> NodeID {
    NodeID(rawValue: UInt64(nodes[Int(index)].generation) << 32 | UInt64(index))
  }

  /// The place of a number that is still out.
  func index(_ id: NodeID) -> UInt32? {
    let index = UInt32(truncatingIfNeeded: id.rawValue)
    guard Int(index) < nodes.count, nodes[Int(index)].role != .free,
      UInt64(nodes[Int(index)].generation) == id.rawValue >> 32
    else { return nil }
    return index
  }

  subscript(index: UInt32) -> Node { nodes[Int(index)] }

  mutating func retain(_ index: UInt32, _ count: UInt64 = 1) { nodes[Int(index)].lookups += UInt32(clamping: count) }

  /// Takes look-ups back; true when none is left.
  mutating func release(_ index: UInt32, count: UInt64) -> Bool {
    nodes[Int(index)].lookups -= min(UInt32(clamping: count), nodes[Int(index)].lookups)
    return nodes[Int(index)].lookups == 0
  }

  mutating func supersede(_ index: UInt32, by revision: SupersededRevision) {
    nodes[Int(index)].role = .superseded
    superseded[index] = revision
  }

  mutating func remove(_ index: UInt32) {
    nodes[Int(index)].role = .free
    nodes[Int(index)].generation &+= 1
    superseded[index] = nil
    free.append(index)
  }
}
