// Extended attributes: what S3 and the mirror know of a file, read-only (design: `user.s3.*`).
public import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  private static let names = [
    "user.s3.key", "user.s3.etag", "user.s3.version-id", "user.s3.storage-class", "user.s3.content-type",
    "user.s3mirror.state", "user.s3mirror.validated",
  ]

  public func extendedAttributeNames(of node: NodeID) -> [String] {
    guard case .some((_, .some)) = facts(of: node) else { return [] }
    return Self.names.filter { if case .success = extendedAttribute($0, of: node) { true } else { false } }
  }

  public func extendedAttribute(_ name: String, of node: NodeID) -> Result<[UInt8], Errno> {
    // EOPNOTSUPP makes programs stop asking; ENODATA would make them ask for every file.
    guard name.hasPrefix("user.s3"), let (facts, file) = facts(of: node) else { return .failure(.notSupported) }
    let metadata = file?.metadata
    let value: [UInt8]? =
      switch name {
      case "user.s3.key": facts.key.bytes
      case "user.s3.etag": facts.revision.etag.map { Array($0.description.utf8) }
      case "user.s3.version-id": (facts.revision.version ?? file?.version).map { Array($0.utf8) }
      case "user.s3.storage-class": Array((metadata?.storageClass ?? facts.storageClass).utf8)
      case "user.s3.content-type": metadata?.contentType.map { Array($0.utf8) }
      case "user.s3mirror.state": Array(facts.state.utf8)
      case "user.s3mirror.validated": facts.validated.map { Array(Timestamp(seconds: $0.seconds).rfc3339.utf8) }
      default: nil
      }
    return value.map { .success($0) } ?? .failure(.noAttribute)
  }

  private struct Facts {
    var key: ObjectKey
    var revision: ObjectRevision
    var storageClass = "STANDARD"
    var state = "stale"
    var validated: WallTime?
  }

  /// A file's facts; nil for a directory or an unknown node.
  private func facts(of id: NodeID) -> (Facts, MirroredFile?)? {
    let offline = store.offlineSince != nil
    let (now, wall) = (clock.now(), clock.wall())
    return state.withLock { state in
      guard let index = state.namespace.nodes.index(id) else { return nil }
      let node = state.namespace.nodes[index]
      switch node.role {
      case .file:
        let (directory, slot) = (Int(node.directory), Int(node.slot))
        let entry = state.namespace.directories[directory].table[slot]
        var facts = Facts(
          key: state.namespace.key(directory, slot), revision: state.namespace.revision(directory, slot))
        facts.storageClass = state.namespace.storageClass(entry)
        facts.state = state.namespace.isFresh(directory, slot, now) ? "fresh" : offline ? "offline" : "stale"
        if entry.validated != .distantPast {
          facts.validated = WallTime(
            milliseconds: wall.milliseconds - (now - entry.validated).nanosecondsClamped / 1_000_000)
        }
        return (facts, state.files[FileID(directory, slot)])
      case .superseded:
        guard let old = state.namespace.nodes.superseded[index] else { return nil }
        return (Facts(key: old.key, revision: old.revision), state.superseded[index])
      case .directory, .free: return nil
      }
    }
  }
}
