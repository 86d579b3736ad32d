// What the catalogue is told and what it answers: names, their revisions, and when the origin vouched for them.
public import MirrorPlatform
public import MirrorStore

/// Something that was learned of the origin.
public enum CatalogueChange: Sendable {
  /// The key's current revision, vouched for at that time; copies of its other revisions are let go.
  case object(ObjectKey, ObjectRevision, storageClass: String?, validated: WallTime)
  /// What an answer for the key itself said of its freshness, in the author's own words; empty: nothing. It is forgotten
  /// with the revision.
  case said(ObjectKey, String)
  /// What an answer for the key itself said of owner, mode and time (`PosixMetadata.text`); empty: nothing. It is
  /// forgotten with the revision, and when the object's date moves.
  case described(ObjectKey, String)
  /// The origin vouched for these again.
  case validated([ObjectKey], WallTime)
  /// The key is gone, and its copies are let go.
  case removed(ObjectKey)
  /// The directory (`""` or `a/b/`) exists; `listed` is the time of the request of a complete listing, nil leaves
  /// the one that is there.
  case directory(ObjectKey, listed: WallTime?)
  /// The directory has these names and no others (those of directories end in `/`), by a complete listing that was
  /// asked for at `listed`.
  case contents(ObjectKey, names: [[UInt8]], listed: WallTime)
  /// The directory is gone with all below it.
  case directoryRemoved(ObjectKey)
  /// Neither a key nor a directory of this name (without its `/`) exists, and until then none is looked for.
  case absent(ObjectKey, until: WallTime)
  /// The key can't be a file, for that reason.
  case hidden(ObjectKey, String)
}

/// A key as it was last known.
public struct CatalogueObject: Hashable, Sendable {
  public let key: ObjectKey
  public let revision: ObjectRevision
  public let storageClass: String?
  public let validated: WallTime
  /// There is a copy of this revision, whole or in part.
  public let hasBlob: Bool
  /// What an answer said of its freshness; empty: nothing; nil: not known.
  public let said: String?
  /// What an answer said of owner, mode and time; empty: nothing; nil: not known.
  public let described: String?
}

/// A directory as it was last known.
public struct CatalogueDirectory: Hashable, Sendable {
  /// When its last complete listing was asked for; nil: never.
  public let listed: WallTime?
  /// In key order.
  public let objects: [CatalogueObject]
  /// Child directories, in key order, each with its trailing `/`.
  public let directories: [ObjectKey]
  /// Names that are known to be absent.
  public let absences: [CatalogueAbsence]
}

/// A name that does not exist, as it was last known.
public struct CatalogueAbsence: Hashable, Sendable {
  public let name: [UInt8]
  public let until: WallTime
}

/// A key as the tables have it: the directory up to its last `/`, and the rest.
struct KeyParts {
  let parent: ArraySlice<UInt8>
  let name: ArraySlice<UInt8>

  init(_ key: ObjectKey) {
    let cut = key.bytes.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0
    parent = key.bytes[..<cut]
    name = key.bytes[cut...]
  }

  /// The directory that holds a directory; nil for the root.
  static func parent(ofDirectory key: ObjectKey) -> ArraySlice<UInt8>? {
    guard !key.bytes.isEmpty else { return nil }
    let cut = key.bytes.dropLast().lastIndex(of: 0x2F).map { $0 + 1 } ?? 0
    return key.bytes[..<cut]
  }
}

extension ObjectKey {
  /// The first key after all that begin with these bytes; nil when there is none.
  var endOfPrefix: [UInt8]? {
    var end = bytes
    while let last = end.popLast() {
      if last < 0xFF { return end + [last + 1] }
    }
    return nil
  }
}
