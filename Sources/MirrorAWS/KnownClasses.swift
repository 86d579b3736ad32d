// Which objects cost more to read than those of S3 Standard: a 304 does not tell, a listing and a GET do.
import MirrorPlatform
import MirrorStore
import Synchronization

/// The storage classes of keys as last told; only those with prices of their own take room.
final class KnownClasses: Sendable {
  /// Beyond so many keys no more are learned; their 304s count as S3 Standard.
  private static let limit = 100_000
  private let classes = Mutex<[UInt64: StorageClass]>([:])

  /// Takes note of what a page of a listing tells.
  func learn(_ objects: [ListedObject]) {
    let isSpecial = objects.contains { StorageClass($0.storageClass) != .standard }
    guard isSpecial || classes.withLock({ !$0.isEmpty }) else { return }
    let found = objects.map { (stableHash($0.key.bytes), StorageClass($0.storageClass)) }
    classes.withLock { classes in
      for (hash, storageClass) in found { Self.set(hash, storageClass, in: &classes) }
    }
  }

  /// The class that the request of an object is priced by: what a 2xx answer tells, else what is known.
  func priced(_ key: ObjectKey, status: Int, answered name: String?) -> StorageClass {
    guard (200...299).contains(status) else {
      return classes.withLock { $0.isEmpty ? .standard : $0[stableHash(key.bytes)] ?? .standard }
    }
    let storageClass = StorageClass(name)
    classes.withLock { classes in
      if storageClass != .standard || !classes.isEmpty { Self.set(stableHash(key.bytes), storageClass, in: &classes) }
    }
    return storageClass
  }

  private static func set(_ hash: UInt64, _ storageClass: StorageClass, in classes: inout [UInt64: StorageClass]) {
    if storageClass == .standard {
      classes[hash] = nil
    } else if classes.count < limit || classes[hash] != nil {
      classes[hash] = storageClass
    }
  }
}
