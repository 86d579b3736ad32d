// OPEN, RELEASE and FORGET where the kernel may read files by itself.
import CFUSE
import MirrorCore
import MirrorPlatform

extension KernelService {
  func open(_ request: UInt, _ node: NodeID) {
    // Said once, the kernel opens files by itself and keeps their pages, as without passthrough.
    guard let files, !files.isRefused else { return refuse(request, .notImplemented) }
    if let opened = files.join(node) {
      if cfuse_reply_open(request, 0, opened.backing) != 0 { takeBack(node) }
      return
    }
    let tree = tree(for: request)
    serve(request) { reply in
      tree.open(node) { answer in
        let opened: OpenedFile
        switch answer {
        case .whole(let file, let lease): opened = files.open(node, file, lease: lease)
        case .byReading: opened = files.open(node)
        case .failed(let error):
          reply.fail(error)
          return
        }
        // Of a handle that the kernel did not take it sends no RELEASE.
        if !reply.answer({ cfuse_reply_open($0, 0, opened.backing) }) { self.takeBack(node) }
      }
    }
  }

  func close(_ node: NodeID) { files?.close(node) }

  /// Nobody waited for the open any more; by now the kernel may have forgotten the node too.
  private func takeBack(_ node: NodeID) {
    close(node)
    letGo(node)
  }

  func forget(_ node: NodeID, count: UInt64) {
    tree.forget(node, count: count)
    letGo(node)
  }

  /// Lets go of a node's file if the kernel has given back all that it had of the node.
  private func letGo(_ node: NodeID) {
    if let files, files.contains(node), tree.attributes(of: node) == nil { files.forget(node) }
  }
}
