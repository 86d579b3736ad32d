// A tree in memory whose answers can be slow, or held back until the test lets them go.
import Dispatch
import MirrorCore
import MirrorPlatform
import Synchronization

final class SyntheticTree: FileTree {
  enum Content: Sendable {
    case bytes([UInt8])
    case file(File, size: Int)
    /// READs wait until `release`.
    case stalled(size: Int)

    var size: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .file(_, let size), .stalled(let size): size
      }
    }
  }
  struct Node: Sendable {
    var attributes: NodeAttributes
    var content: Content?
    var parent: NodeID
    var children: [[UInt8]] = []
  }
  struct Counts: Equatable, Sendable {
    var lookups: [String: Int] = [:]
    var attributes = 0
    var reads = 0
    var opens = 0
    var longestRead = 0
    var opened = 0
    var closed = 0
    var forgotten: UInt64 = 0
    var total: Int { lookups.values.reduce(0, +) + attributes + reads + opened }
  }
  private struct State {
    var nodes: [NodeID: Node] = [:]
    var names: [NodeID: [[UInt8]: NodeID]] = [:]
    var counts = Counts()
    var delays: [String: Duration] = [:]
    var held: Set<String> = []
    var waiting: [@Sendable () -> Void] = []
    var failedReplies = 0
    var next: UInt64 = 2
  }
  private let state = Mutex(State())
  /// What keeps a whole file as it is while the kernel may read it.
  final class Lease: Sendable {}
  private struct WeakLease {
    weak var lease: Lease?
  }
  private let leases = Mutex<[WeakLease]>([])
  /// Those that are held.
  var heldLeases: Int { leases.withLock { $0.count { $0.lease != nil } } }
  let entryTimeout: Duration
  let readDelay: Duration?
  /// A FORGET takes the node away, however many look-ups it gives back.
  let forgetting: Bool

  init(entryTimeout: Duration = .seconds(3600), readDelay: Duration? = nil, forgetting: Bool = false) {
    self.forgetting = forgetting
    self.entryTimeout = entryTimeout
    self.readDelay = readDelay
    state.withLock { $0.nodes[.root] = Self.directory(.root, in: .root) }
  }

  private static func directory(_ node: NodeID, in parent: NodeID) -> Node {
    Node(
      attributes: NodeAttributes(
        node: node, inode: node.rawValue &+ 7000, isDirectory: true, size: 0, modified: 1_600_000_000),
      content: nil, parent: parent)
  }

  // MARK: Building

  @discardableResult
  func addDirectory(_ name: String, in parent: NodeID = .root) -> NodeID {
    state.withLock { state in
      let node = NodeID(rawValue: state.next)
      state.next += 1
      state.nodes[node] = Self.directory(node, in: parent)
      Self.link(Array(name.utf8), node, parent, &state)
      return node
    }
  }

  @discardableResult
  func addFile(_ name: String, _ content: Content, in parent: NodeID = .root) -> NodeID {
    state.withLock { state in
      let node = NodeID(rawValue: state.next)
      state.next += 1
      let attributes = NodeAttributes(
        node: node, inode: node.rawValue &+ 7000, isDirectory: false, size: Int64(content.size),
        modified: 1_700_000_000)
      state.nodes[node] = Node(attributes: attributes, content: content, parent: parent)
      Self.link(Array(name.utf8), node, parent, &state)
      return node
    }
  }

  private static func link(_ name: [UInt8], _ node: NodeID, _ parent: NodeID, _ state: inout State) {
    if state.names[parent]?[name] == nil { state.nodes[parent]?.children.append(name) }
    state.names[parent, default: [:]][name] = node
  }

  /// The same bytes, had another way: they are whole now, or no longer.
  func change(_ node: NodeID, to content: Content) { state.withLock { $0.nodes[node]?.content = content } }

  func remove(_ name: String, in parent: NodeID = .root) {
    state.withLock { state in
      state.names[parent]?[Array(name.utf8)] = nil
      state.nodes[parent]?.children.removeAll { $0 == Array(name.utf8) }
    }
  }

  /// LOOKUPs of the name take so long.
  func delay(_ name: String, _ time: Duration) { state.withLock { $0.delays[name] = time } }
  /// LOOKUPs of the name wait until `release`.
  func hold(_ name: String) { state.withLock { _ = $0.held.insert(name) } }

  /// Answers all that waits, and holds nothing any more.
  func release() {
    let waiting = state.withLock { state in
      defer {
        state.waiting = []
        state.held = []
      }
      return state.waiting
    }
    for answer in waiting { answer() }
  }

  var counts: Counts { state.withLock { $0.counts } }
  var waiting: Int { state.withLock { $0.waiting.count } }
  /// Look-ups whose answer did not reach the kernel.
  var failedReplies: Int { state.withLock { $0.failedReplies } }

  // MARK: FileTree

  func lookUp(_ name: [UInt8], in parent: NodeID, reply: @escaping @Sendable (LookupAnswer) -> Bool) {
    let text = String(decoding: name, as: UTF8.self)
    let timeout = entryTimeout
    let answer: @Sendable () -> Void = { [self] in
      let node = state.withLock { state in state.names[parent]?[name].flatMap { state.nodes[$0] } }
      let taken =
        if let node {
          reply(
            .found(NodeEntry(attributes: node.attributes, entryTimeout: timeout, attributeTimeout: .seconds(3600))))
        } else { reply(.absent(timeout: timeout)) }
      if !taken { state.withLock { $0.failedReplies += 1 } }
    }
    let delay: Duration? = state.withLock { state in
      state.counts.lookups[text, default: 0] += 1
      if state.held.contains(text) {
        state.waiting.append(answer)
        return .seconds(-1)
      }
      return state.delays[text]
    }
    later(delay, answer)
  }

  private func later(_ delay: Duration?, _ answer: @escaping @Sendable () -> Void) {
    guard let delay else { return answer() }
    guard delay > .zero else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay.secondsValue, execute: answer)
  }

  func attributes(of node: NodeID) -> (NodeAttributes, timeout: Duration)? {
    state.withLock { state in
      state.counts.attributes += 1
      return state.nodes[node].map { ($0.attributes, .seconds(3600)) }
    }
  }

  func parent(of directory: NodeID) -> NodeID? { state.withLock { $0.nodes[directory]?.parent } }

  func isFile(_ name: [UInt8], in parent: NodeID) -> Bool {
    state.withLock { state in
      state.names[parent]?[name].flatMap { state.nodes[$0] }?.attributes.isDirectory == false
    }
  }

  func forget(_ node: NodeID, count: UInt64) {
    state.withLock { state in
      state.counts.forgotten += count
      if forgetting { state.nodes[node] = nil }
    }
  }

  func open(_ node: NodeID, reply: @escaping @Sendable (OpenAnswer) -> Void) {
    let content = state.withLock { state in
      state.counts.opens += 1
      return state.nodes[node]?.content
    }
    switch content {
    case nil: reply(.failed(.stale))
    case .bytes, .stalled: reply(.byReading)
    case .file(let file, _):
      let lease = Lease()
      leases.withLock { $0.append(WeakLease(lease: lease)) }
      reply(.whole(file, lease: lease))
    }
  }

  func openDirectory(_ node: NodeID, reply: @escaping @Sendable (Result<OpenedDirectory, Errno>) -> Void) {
    state.withLock { $0.counts.opened += 1 }
    reply(.success(OpenedDirectory(handle: node.rawValue, isAsShown: false)))
  }

  func readDirectory(
    _ node: NodeID, handle: UInt64, offset: UInt64, plus: Bool, into collector: any DirectoryCollector
  ) {
    state.withLock { state in
      let children = state.nodes[node]?.children ?? []
      for index in min(Int(offset), children.count)..<children.count {
        guard let child = state.names[node]?[children[index]], let attributes = state.nodes[child]?.attributes else {
          continue
        }
        let entry = NodeEntry(attributes: attributes, entryTimeout: entryTimeout, attributeTimeout: .seconds(3600))
        if !collector.add(name: children[index][...], entry: entry, offset: UInt64(index) + 1) { break }
      }
    }
    _ = collector.finish(nil)
  }

  func closeDirectory(_ node: NodeID, handle: UInt64) { state.withLock { $0.counts.closed += 1 } }

  func read(_ node: NodeID, offset: Int64, count: Int, reply: @escaping @Sendable (ReadAnswer) -> Void) {
    let content = state.withLock { state in
      state.counts.reads += 1
      state.counts.longestRead = max(state.counts.longestRead, count)
      return state.nodes[node]?.content
    }
    guard let content else { return reply(.failed(.stale)) }
    let start = min(Int(offset), content.size)
    let end = min(start + count, content.size)
    switch content {
    case .bytes(let bytes): later(readDelay) { reply(.bytes(Array(bytes[start..<end]))) }
    case .file(let file, _): reply(.extent(file, offset: Int64(start), count: end - start))
    case .stalled:
      state.withLock { $0.waiting.append { reply(.bytes([UInt8](repeating: 0x78, count: end - start))) } }
    }
  }

  func extendedAttribute(_ name: String, of node: NodeID) -> Result<[UInt8], Errno> {
    switch name {
    case "user.s3.etag": .success(Array("\"abc\"".utf8))
    case let name where name.hasPrefix("user.s3"): .failure(Errno(rawValue: 61))  // ENODATA
    default: .failure(.notSupported)
    }
  }

  func extendedAttributeNames(of node: NodeID) -> [String] { ["user.s3.etag", "user.s3.key"] }
}
