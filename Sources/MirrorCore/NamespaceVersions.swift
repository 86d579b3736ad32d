// Which version of its object a name's current revision is, as far as an answer said so: a listing does not.
import MirrorCache
import MirrorStore

extension Namespace {
  /// The current revision of a file with the id of its version, where that is known.
  func revision(_ directory: Int, _ slot: Int) -> ObjectRevision {
    var revision = directories[directory].table[slot].revision
    if !versions.isEmpty { revision.version = versions[FileID(directory, slot)] }
    return revision
  }

  /// Whether that is news.
  mutating func noteVersion(_ directory: Int, _ slot: Int, _ version: String?) -> Bool {
    guard let version else { return false }
    return versions.updateValue(version, forKey: FileID(directory, slot)) != version
  }

  /// An answer to a reader named the version of a file's current revision.
  mutating func learnVersion(_ directory: Int, _ slot: Int, _ version: String?) {
    guard noteVersion(directory, slot, version) else { return }
    let entry = directories[directory].table[slot]
    effects.changes.append(
      .object(
        key(directory, slot), revision(directory, slot), storageClass: storageClass(entry),
        validated: effects.wall(entry.validated)))
  }
}
