// The C entry points: libfuse's threads come in here, and go on in `KernelService`.
import CFUSE
import MirrorCore

private func service(_ owner: UnsafeMutableRawPointer) -> KernelService {
  unsafe Unmanaged<KernelService>.fromOpaque(owner).takeUnretainedValue()
}

/// Formed here, outside any actor: a closure of `main` would trap on libfuse's threads.
func makeHandlers() -> cfuse_handlers {
  unsafe cfuse_handlers(
    ready: { owner in unsafe service(owner).ready() },
    lookup: { owner, request, parent, name in
      unsafe service(owner).lookUp(request, bytes(name), in: NodeID(rawValue: parent))
    },
    forget: { owner, node, count in unsafe service(owner).forget(NodeID(rawValue: node), count: count) },
    attributes: { owner, request, node in unsafe service(owner).attributes(request, NodeID(rawValue: node)) },
    open: { owner, request, node in unsafe service(owner).open(request, NodeID(rawValue: node)) },
    close: { owner, node, _ in unsafe service(owner).close(NodeID(rawValue: node)) },
    read: { owner, request, node, size, offset in
      unsafe service(owner).read(request, NodeID(rawValue: node), offset: offset, count: size)
    },
    read_link: { owner, request, node in unsafe service(owner).readLink(request, NodeID(rawValue: node)) },
    open_directory: { owner, request, node in unsafe service(owner).openDirectory(request, NodeID(rawValue: node)) },
    read_directory: { owner, request, node, size, offset, handle, plus in
      let place = DirectoryPlace(
        node: NodeID(rawValue: node), handle: handle, offset: UInt64(bitPattern: offset), plus: plus != 0)
      unsafe service(owner).readDirectory(request, place, size: size)
    },
    close_directory: { owner, node, handle in
      unsafe service(owner).tree.closeDirectory(NodeID(rawValue: node), handle: handle)
    },
    get_xattr: { owner, request, node, name, size in
      let name = unsafe String(validatingCString: name)
      unsafe service(owner).extendedAttribute(request, name, NodeID(rawValue: node), size: size)
    },
    list_xattr: { owner, request, node, size in
      unsafe service(owner).extendedAttributeNames(request, NodeID(rawValue: node), size: size)
    },
    interrupted: { data in unsafe Unmanaged<PendingReply>.fromOpaque(data).takeUnretainedValue().interrupted() })
}

private func bytes(_ name: UnsafePointer<CChar>) -> [UInt8] {
  unsafe Array(UnsafeBufferPointer(start: name, count: length(name)).lazy.map { UInt8(bitPattern: $0) })
}

private func length(_ name: UnsafePointer<CChar>) -> Int {
  var end = 0
  while unsafe name[end] != 0 { end += 1 }
  return end
}
