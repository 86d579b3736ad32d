// Which way each open file goes. All handles of a node go one way: the kernel answers a second way with EIO.

/// How the bytes of an open file reach its reader.
enum OpenWay<Backing> {
  /// The kernel asks for them and keeps their pages.
  case cached
  /// The kernel reads the file behind them by itself.
  case passthrough(Backing)

  var backing: Backing? { if case .passthrough(let backing) = self { backing } else { nil } }
}

extension OpenWay: Sendable where Backing: Sendable {}

/// The open handles by node, and the files that the kernel reads by itself. A value: it knows no descriptor.
struct OpenTable<Node: Hashable, Backing> {
  private struct Opens {
    let way: OpenWay<Backing>
    /// Counted from before the reply until after the release, so never fewer than the kernel has.
    var handles = 1
    var isForgotten = false
    var used: UInt64
  }
  private var nodes: [Node: Opens] = [:]
  private var time: UInt64 = 0
  /// Files that the kernel holds for us.
  private(set) var backings = 0
  private let limit: Int
  private var trimAt: Int

  /// About `limit` files stay ready to be opened again; more only while they are open.
  init(limit: Int) {
    self.limit = limit
    trimAt = limit
  }

  func contains(_ node: Node) -> Bool { nodes[node] != nil }

  /// One handle more, the way that the node goes; nil while none is settled.
  mutating func join(_ node: Node) -> OpenWay<Backing>? {
    guard let index = nodes.index(forKey: node) else { return nil }
    time += 1
    nodes.values[index].handles += 1
    nodes.values[index].used = time
    return nodes.values[index].way
  }

  /// One handle more, this way unless another handle has settled it meanwhile. Returns the way it goes.
  mutating func open(_ node: Node, _ way: OpenWay<Backing>) -> OpenWay<Backing> {
    if let settled = join(node) { return settled }
    time += 1
    nodes[node] = Opens(way: way, used: time)
    if way.backing != nil { backings += 1 }
    return way
  }

  /// One handle less. Returns what the kernel should let go of.
  mutating func close(_ node: Node) -> Backing? {
    guard let index = nodes.index(forKey: node), nodes.values[index].handles > 0 else { return nil }
    nodes.values[index].handles -= 1
    let left = nodes.values[index]
    // A file stays ready for the next open; a node whose bytes were asked for is free to go the other way.
    guard left.handles == 0, left.way.backing == nil || left.isForgotten else { return nil }
    return remove(node)
  }

  /// The kernel knows the node no more, though a release may be on its way. Returns what it should let go of.
  mutating func forget(_ node: Node) -> Backing? {
    guard let index = nodes.index(forKey: node) else { return nil }
    nodes.values[index].isForgotten = true
    return nodes.values[index].handles == 0 ? remove(node) : nil
  }

  /// What nobody has open and was opened longest ago, once there is too much of it.
  mutating func trim() -> [Backing] {
    guard backings > trimAt else { return [] }
    let idle = nodes.filter { $0.value.handles == 0 }.sorted { $0.value.used < $1.value.used }
    let dropped = idle.prefix(backings - limit + limit / 8).compactMap { remove($0.key) }
    // Where most are open, not every further one should look for some that are not.
    trimAt = max(limit, backings + limit / 8)
    return dropped
  }

  mutating func removeAll() -> [Backing] {
    defer {
      nodes = [:]
      backings = 0
    }
    return nodes.values.compactMap(\.way.backing)
  }

  private mutating func remove(_ node: Node) -> Backing? {
    guard let backing = nodes.removeValue(forKey: node)?.way.backing else { return nil }
    backings -= 1
    return backing
  }
}
