// OPENDIR, READDIR and READDIRPLUS. The kernel's offsets are the tree's plus two: `.` and `..` come first and are ours.
import CFUSE
import Glibc
import MirrorCore
import MirrorPlatform
import Synchronization

/// What one READDIR asks for.
struct DirectoryPlace: Sendable {
  let node: NodeID
  let handle: UInt64
  /// The kernel's offset: 0 before `.`, 1 before `..`, 2 before the tree's first name.
  let offset: UInt64
  let plus: Bool
}

extension KernelService {
  func openDirectory(_ request: UInt, _ node: NodeID) {
    let tree = tree(for: request)
    serve(request) { reply in
      tree.openDirectory(node) { result in
        switch result {
        case .success(let opened):
          // Nobody will release a handle that the kernel did not get.
          if !reply.answer({ cfuse_reply_directory($0, opened.handle, opened.isAsShown) }) {
            tree.closeDirectory(node, handle: opened.handle)
          }
        case .failure(let error): reply.fail(error)
        }
      }
    }
  }

  func readDirectory(_ request: UInt, _ place: DirectoryPlace, size: Int) {
    let tree = tree(for: request)
    guard let own = tree.attributes(of: place.node)?.0 else { return refuse(request, .stale) }
    let parent = tree.parent(of: place.node).flatMap { tree.attributes(of: $0)?.0 } ?? own
    serve(request, locking: place.node) { reply in
      let page = DirectoryPage(reply, place: place, size: size, appearance: appearance)
      guard page.addDots(own: own, parent: parent) else {
        _ = page.finish(nil)
        return
      }
      let offset = place.offset < 2 ? 0 : place.offset - 2
      tree.readDirectory(place.node, handle: place.handle, offset: offset, plus: place.plus, into: page)
    }
  }
}

/// The names of one answer, in the kernel's form, as they are added.
final class DirectoryPage: DirectoryCollector {
  private struct State {
    var bytes: [UInt8]
    var used = 0
    var entry = Timeout()
    var attribute = Timeout()
  }

  /// The last one in the kernel's form: most names of a page have the same.
  private struct Timeout {
    private var known = Duration.zero
    private var seconds = 0.0

    mutating func seconds(_ duration: Duration) -> Double {
      if duration != known { (known, seconds) = (duration, duration.secondsValue) }
      return seconds
    }
  }
  private let reply: PendingReply
  private let place: DirectoryPlace
  private let appearance: NodeAppearance
  private let state: Mutex<State>

  init(_ reply: PendingReply, place: DirectoryPlace, size: Int, appearance: NodeAppearance) {
    self.reply = reply
    self.place = place
    self.appearance = appearance
    state = Mutex(State(bytes: [UInt8](repeating: 0, count: size)))
  }

  /// `.` and `..` where the read begins there. With node 0 the kernel takes them for names without attributes and
  /// counts no look-up.
  func addDots(own: NodeAttributes, parent: NodeAttributes) -> Bool {
    if place.offset == 0, !addDot([0x2E], own, offset: 1) { return false }
    if place.offset <= 1, !addDot([0x2E, 0x2E], parent, offset: 2) { return false }
    return true
  }

  private func addDot(_ name: [UInt8], _ attributes: NodeAttributes, offset: UInt64) -> Bool {
    var node = appearance.node(attributes)
    node.node = 0
    return append(name[...], node, offset, entry: .zero, attribute: .zero)
  }

  func add(name: ArraySlice<UInt8>, entry: NodeEntry, offset: UInt64) -> Bool {
    // One name that cannot be shown must not make the kernel refuse the whole directory; the dots have been.
    guard Self.isShown(name) else { return true }
    return append(
      name, appearance.node(entry.attributes), offset + 2, entry: entry.entryTimeout, attribute: entry.attributeTimeout)
  }

  func add(name: Span<UInt8>, plain entry: PlainEntry, offset: UInt64) -> Bool {
    let isDots = name.count <= 2 && name.indices.allSatisfy { name[$0] == 0x2E }
    guard (1...255).contains(name.count), !isDots, name.indices.allSatisfy({ name[$0] != 0x2F && name[$0] != 0 }) else {
      return true
    }
    let mode: UInt32 =
      switch entry.kind {
      case .file: S_IFREG
      case .directory: S_IFDIR
      case .link: S_IFLNK
      }
    return state.withLock { state in
      let used = state.used
      let added = unsafe state.bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe name.withUnsafeBufferPointer { name in
          guard let start = bytes.baseAddress, let text = name.baseAddress else { return 0 }
          return unsafe cfuse_add_plain_name(
            start + used, bytes.count - used, text, name.count, entry.inode, mode, offset + 2)
        }
      }
      state.used += added
      return added > 0
    }
  }

  private static func isShown(_ name: ArraySlice<UInt8>) -> Bool {
    guard (1...255).contains(name.count), name.count > 2 || !name.allSatisfy({ $0 == 0x2E }) else { return false }
    return !name.contains { $0 == 0x2F || $0 == 0 }
  }

  private func append(
    _ name: ArraySlice<UInt8>, _ node: cfuse_node, _ offset: UInt64, entry: Duration, attribute: Duration
  ) -> Bool {
    let plus: Int32 = place.plus ? 1 : 0
    return state.withLock { state in
      var node = node
      let used = state.used
      let (entry, attribute) = (state.entry.seconds(entry), state.attribute.seconds(attribute))
      let added = unsafe state.bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe name.withUnsafeBufferPointer { name in
          guard let start = bytes.baseAddress, let text = name.baseAddress else { return 0 }
          return unsafe cfuse_add_name(
            plus, start + used, bytes.count - used, text, name.count, &node, offset, entry, attribute)
        }
      }
      state.used += added
      return added > 0
    }
  }

  func finish(_ error: Errno?) -> Bool {
    if let error {
      reply.fail(error)
      return false
    }
    let state = state.withLock { state in
      defer { state.bytes = [] }
      return state
    }
    return reply.answer { unsafe cfuse_reply_bytes($0, state.bytes, state.used) }
  }
}
