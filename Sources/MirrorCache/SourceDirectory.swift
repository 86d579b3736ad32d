// Where a source's files lie, who may own them, and the lock of the one process that writes them.
import Glibc
import MirrorPlatform
import MirrorStore

/// `<root>/<name>/{catalogue.sqlite, blobs/ab/<id>, lock, source}`.
struct SourceDirectory: Sendable {
  let path: String
  var catalogue: String { path + "/catalogue.sqlite" }
  var blobs: String { path + "/blobs" }
  var lockFile: String { path + "/lock" }
  var sourceFile: String { path + "/source" }

  /// Spreads blobs over 256 directories.
  static func blobPath(_ id: Int64, under blobs: String) -> String {
    "\(blobs)/\(hexadecimal([UInt8(truncatingIfNeeded: id)]))/\(id)"
  }

  /// The signature that backup programs know (https://bford.info/cachedir/).
  static let tag =
    "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of s3mirror; it can be deleted at any time.\n"

  /// Makes what is missing; never follows a link and never uses another user's directory.
  static func prepare(_ configuration: CacheConfiguration, log: Log) throws(CacheError) -> SourceDirectory {
    let root = configuration.root
    try makePrivate(root, parents: true, alsoOwnedByRoot: true)
    do throws(Errno) {
      try makeFile(root + "/CACHEDIR.TAG", Array(tag.utf8))
    } catch { log.info("\(root): can't write CACHEDIR.TAG: \(error)") }
    let directory = SourceDirectory(path: root + "/" + SourceIdentity(configuration).directoryName)
    try makePrivate(directory.path, parents: false, alsoOwnedByRoot: false)
    try makePrivate(directory.blobs, parents: false, alsoOwnedByRoot: false)
    return directory
  }

  /// Writes what the directory is for, or refuses one that is for something else. Call with the lock held.
  func sign(_ identity: SourceIdentity) throws(CacheError) {
    do throws(Errno) {
      try Self.makeFile(sourceFile, identity.encoded)
    } catch { throw CacheError(error, path: sourceFile, doing: "write what it is the cache of") }
    guard SourceIdentity(path: sourceFile) == identity else {
      throw CacheError(.unusable, path: path, message: "is the cache of another source (see the file `source` in it)")
    }
  }

  /// Takes the lock that makes this process the owner, and leaves its id for the message others get.
  func lock() throws(CacheError) -> File {
    do throws(Errno) {
      let file = try File.openOrCreate(lockFile, mode: 0o600)
      // A reader that looks whether there is an owner holds the lock for an instant.
      for attempt in 0... {
        if try file.lock() { break }
        guard attempt < 10 else { throw Errno.wouldBlock }
        pause(.milliseconds(10))
      }
      try file.resize(to: 0)
      try file.write(Array("\(getpid())\n".utf8), at: 0)
      return file
    } catch {
      if error == .wouldBlock { throw CacheError.locked(by: lastOwner, path: path) }
      throw CacheError(error, path: lockFile, doing: "take the lock")
    }
  }

  /// The id of the process that holds the lock, 0 where it is unreadable; nil when none does.
  var owner: Int32? {
    guard let descriptor = try? File.open(lockFile, .read) else { return nil }
    if flock(descriptor.descriptor, LOCK_SH | LOCK_NB) == 0 { return nil }
    return lastOwner
  }

  private var lastOwner: Int32 {
    guard let bytes = try? FileSystem.read(lockFile) else { return 0 }
    return Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)) ?? 0
  }

  private static func makeFile(_ path: String, _ bytes: [UInt8]) throws(Errno) {
    if let found = try? FileSystem.attributes(path), found.kind == .file, found.size > 0 { return }
    try FileSystem.write(bytes, to: path, mode: 0o600)
  }

  /// Makes a directory of mode 0700 whatever the umask, or checks the one that is there.
  private static func makePrivate(_ path: String, parents: Bool, alsoOwnedByRoot: Bool) throws(CacheError) {
    let found: FileAttributes
    do throws(Errno) {
      if try !exists(path) {
        if parents { try FileSystem.makeDirectories(path) } else { try FileSystem.makeDirectory(path) }
        try FileSystem.setPermissions(path, 0o700)
      }
      found = try FileSystem.attributes(path)
    } catch { throw CacheError(error, path: path, doing: "make the directory") }
    guard found.kind == .directory else {
      let what = found.kind == .link ? "is a symbolic link" : "is not a directory"
      throw CacheError(.unusable, path: path, message: what)
    }
    guard found.owner == geteuid() || (alsoOwnedByRoot && found.owner == 0) else {
      throw CacheError(.unusable, path: path, message: "belongs to user \(found.owner), not to this one")
    }
  }

  private static func exists(_ path: String) throws(Errno) -> Bool {
    do throws(Errno) { _ = try FileSystem.attributes(path) } catch {
      if error == .noEntry { return false }
      throw error
    }
    return true
  }
}
