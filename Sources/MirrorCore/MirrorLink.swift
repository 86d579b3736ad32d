// READLINK: where a symbolic link leads is in the object's metadata, or is its content.
public import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  /// Linux takes no longer target (PATH_MAX, with its NUL).
  private static let longest: Int64 = 4095

  public func readLink(_ node: NodeID, reply: @escaping @Sendable (Result<[UInt8], Errno>) -> Void) {
    readLink(node, through: self, reply: reply)
  }

  /// `tree` reads the content.
  func readLink(_ node: NodeID, through tree: any FileTree, reply: @escaping @Sendable (Result<[UInt8], Errno>) -> Void)
  {
    let known = state.withLock { state in
      state.namespace.attributes(of: node).map { ($0, state.namespace.linkTarget(of: node)) }
    }
    guard let (attributes, target) = known else { return reply(.failure(.stale)) }
    guard attributes.isLink else { return reply(.failure(.invalid)) }
    if let target { return reply(.success(target)) }
    guard attributes.size <= Self.longest else { return reply(.failure(.nameTooLong)) }
    tree.read(node, offset: 0, count: Int(attributes.size)) { answer in reply(answer.bytes) }
  }
}

extension QuietView {
  public func readLink(_ node: NodeID, reply: @escaping @Sendable (Result<[UInt8], Errno>) -> Void) {
    mirror.readLink(node, through: self, reply: reply)
  }
}

extension ReadAnswer {
  fileprivate var bytes: Result<[UInt8], Errno> {
    switch self {
    case .bytes(let bytes): return .success(bytes)
    case .failed(let error): return .failure(error)
    case .extent(let file, let offset, let count):
      do throws(Errno) { return .success(try file.read(at: offset, count: count)) } catch { return .failure(error) }
    }
  }
}
