// Turns kernel requests into calls of a tree, and the tree's answers into replies. Nothing here waits.
import CFUSE
import MirrorCore
import MirrorPlatform
import Synchronization

final class KernelService: Sendable {
  let tree: any FileTree
  private let quiet: (tree: any FileTree, callers: QuietCallers)?
  let appearance: NodeAppearance
  let pending: PendingRequests
  /// Nil where the kernel opens files by itself.
  let files: OpenFiles?
  private let whenReady = Mutex<(@Sendable () -> Void)?>(nil)

  init(
    tree: any FileTree, quiet: (any FileTree, QuietCallers)? = nil, appearance: NodeAppearance,
    pending: PendingRequests, files: OpenFiles? = nil
  ) {
    self.tree = tree
    self.files = files
    self.quiet = quiet.map { (tree: $0.0, callers: $0.1) }
    self.appearance = appearance
    self.pending = pending
  }

  /// What to do, once, when the kernel has taken the INIT reply.
  func onReady(_ call: @escaping @Sendable () -> Void) { whenReady.withLock { $0 = call } }

  func ready() {
    let call = whenReady.withLock { call in
      defer { call = nil }
      return call
    }
    call?()
  }

  /// The tree that answers whoever sent a request.
  func tree(for request: UInt) -> any FileTree {
    guard let quiet, quiet.callers.contains(cfuse_request_pid(request)) else { return tree }
    return quiet.tree
  }

  /// Gives the tree a request that it may answer now or later.
  func serve(_ request: UInt, locking directory: NodeID? = nil, _ call: (PendingReply) -> Void) {
    let reply = PendingReply(request, locking: directory, pending: pending)
    reply.watchForInterrupt()
    call(reply)
    reply.keepUnlessDone()
  }

  func lookUp(_ request: UInt, _ name: [UInt8], in parent: NodeID) {
    guard name.count <= 255 else { return refuse(request, .nameTooLong) }
    let (tree, appearance) = (tree(for: request), appearance)
    serve(request, locking: parent) { reply in
      tree.lookUp(name, in: parent) { answer in
        switch answer {
        case .found(let entry): return reply.answer { Self.replyEntry($0, entry, appearance) }
        case .absent(let timeout) where timeout > .zero:
          var nothing = cfuse_node()
          return reply.answer { unsafe cfuse_reply_entry($0, &nothing, timeout.secondsValue, 0) }
        case .absent: return reply.fail(.noEntry)
        case .failed(let error): return reply.fail(error)
        }
      }
    }
  }

  private static func replyEntry(_ request: UInt, _ entry: NodeEntry, _ appearance: NodeAppearance) -> Int32 {
    var node = appearance.node(entry.attributes)
    return unsafe cfuse_reply_entry(
      request, &node, entry.entryTimeout.secondsValue, entry.attributeTimeout.secondsValue)
  }

  func attributes(_ request: UInt, _ node: NodeID) {
    guard let (attributes, timeout) = tree.attributes(of: node) else { return refuse(request, .stale) }
    var described = appearance.node(attributes)
    _ = unsafe cfuse_reply_attributes(request, &described, timeout.secondsValue)
  }

  func read(_ request: UInt, _ node: NodeID, offset: Int64, count: Int) {
    let tree = tree(for: request)
    serve(request) { reply in
      tree.read(node, offset: offset, count: count) { answer in
        switch answer {
        case .extent(let file, let offset, let count): reply.answer { Self.replyExtent($0, file, offset, count) }
        case .bytes(let bytes): reply.answer { unsafe cfuse_reply_bytes($0, bytes, bytes.count) }
        case .failed(let error): reply.fail(error)
        }
      }
    }
  }

  func readLink(_ request: UInt, _ node: NodeID) {
    let tree = tree(for: request)
    serve(request) { reply in
      tree.readLink(node) { answer in
        switch answer {
        // A NUL would end the path.
        case .success(let target) where target.isEmpty || target.contains(0): reply.fail(.inputOutput)
        case .success(let target):
          let text = (target + [0]).map { CChar(bitPattern: $0) }
          reply.answer { unsafe cfuse_reply_link($0, text) }
        case .failure(let error): reply.fail(error)
        }
      }
    }
  }

  /// Reads of so many bytes and more are worth a way of their own to the disk.
  private static let large = 128 << 10

  /// What the kernel will have in its cache of the mount need not be in that of the cache's disk, too; so a large part
  /// that is only on the disk is read from there. A reply that is short before the end of the file would make the kernel cut the file, so it is EIO.
  private static func replyExtent(_ request: UInt, _ file: File, _ offset: Int64, _ count: Int) -> Int32 {
    guard count > 0 else { return cfuse_reply_bytes(request, nil, 0) }
    guard let bytes = unsafe cfuse_thread_buffer(count) else {
      return cfuse_reply_error(request, Errno.inputOutput.rawValue)
    }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count)
    if count < large || !(unsafe file.readPastCache(into: buffer, at: offset)) {
      do throws(Errno) {
        guard try unsafe file.read(into: buffer, at: offset) == count else { throw Errno.inputOutput }
      } catch {
        return cfuse_reply_error(request, Errno.inputOutput.rawValue)
      }
    }
    return unsafe cfuse_reply_bytes(request, bytes, count)
  }

  func refuse(_ request: UInt, _ error: Errno) { _ = cfuse_reply_error(request, error.rawValue) }
}

// MARK: Extended attributes: answered in place, by the rules of getxattr(2) and listxattr(2).

extension KernelService {
  func extendedAttribute(_ request: UInt, _ name: String?, _ node: NodeID, size: Int) {
    guard let name else { return refuse(request, .notSupported) }
    switch tree.extendedAttribute(name, of: node) {
    case .success(let value): replyValue(request, value, size: size)
    case .failure(let error): refuse(request, error)
    }
  }

  func extendedAttributeNames(_ request: UInt, _ node: NodeID, size: Int) {
    var names: [UInt8] = []
    for name in tree.extendedAttributeNames(of: node) { names += Array(name.utf8) + [0] }
    replyValue(request, names, size: size)
  }

  /// Size 0 asks how long the value is; one too small for it is ERANGE.
  private func replyValue(_ request: UInt, _ value: [UInt8], size: Int) {
    if size == 0 {
      _ = cfuse_reply_xattr_size(request, value.count)
    } else if size < value.count {
      refuse(request, .outOfRange)
    } else {
      _ = unsafe cfuse_reply_bytes(request, value, value.count)
    }
  }
}
