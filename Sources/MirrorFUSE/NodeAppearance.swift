// Owner and permissions: of the mount's options, or where these leave it open of what an object's metadata say.
import CFUSE
import Glibc
import MirrorCore

struct NodeAppearance: Sendable {
  let uid: UInt32
  let gid: UInt32
  let fileMode: UInt32
  let directoryMode: UInt32
  private let fixed: FixedAttributes
  /// Nobody but who mounted may enter, so that a file that is not his would be nobody's.
  private let isOwn: Bool

  init(_ options: MountOptions) {
    uid = options.uid
    gid = options.gid
    fileMode = options.fileMode & 0o7777
    directoryMode = options.directoryMode & 0o7777
    fixed = options.fixed
    isOwn = !options.allowOther && geteuid() != 0
  }

  func node(_ attributes: NodeAttributes) -> cfuse_node {
    var node = cfuse_node(
      node: attributes.node.rawValue, inode: attributes.inode, size: attributes.isDirectory ? 0 : attributes.size,
      modified: attributes.modified, changed: attributes.modified, modified_nanoseconds: 0,
      mode: attributes.isDirectory ? S_IFDIR | directoryMode : S_IFREG | fileMode, uid: uid, gid: gid)
    if let told = attributes.told {
      if let time = told.modified { (node.modified, node.modified_nanoseconds) = (time, told.nanoseconds) }
      if let owner = told.owner, !fixed.contains(.owner), !isOwn { node.uid = owner }
      if let group = told.group, !fixed.contains(.group), !isOwn { node.gid = group }
      if let permissions = told.permissions, !fixed.contains(.permissions) {
        node.mode = S_IFREG | permissions & 0o777 | (isOwn ? S_IRUSR : 0)
      }
    }
    if attributes.isLink { node.mode = S_IFLNK | 0o777 }
    return node
  }
}
