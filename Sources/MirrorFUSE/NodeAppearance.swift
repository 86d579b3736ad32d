// Owner and permissions, the same for every node: a bucket knows neither.
import CFUSE
import Glibc
import MirrorCore

struct NodeAppearance: Sendable {
  let uid: UInt32
  let gid: UInt32
  let fileMode: UInt32
  let directoryMode: UInt32

  init(_ options: MountOptions) {
    uid = options.uid
    gid = options.gid
    fileMode = options.fileMode & 0o7777
    directoryMode = options.directoryMode & 0o7777
  }

  func node(_ attributes: NodeAttributes) -> cfuse_node {
    cfuse_node(
      node: attributes.node.rawValue, inode: attributes.inode, size: attributes.isDirectory ? 0 : attributes.size,
      modified: attributes.modified,
      mode: attributes.isDirectory ? S_IFDIR | directoryMode : S_IFREG | fileMode, uid: uid, gid: gid)
  }
}
