// Calls on paths: what a cache directory needs of the file system.
import CGlibc
import Glibc

/// What stat(2) says of a file.
public struct FileAttributes: Sendable {
  public enum Kind: Sendable { case file, directory, link, other }
  public let kind: Kind
  public let size: Int64
  /// Bytes allocated on disk (holes excluded).
  public let allocated: Int64
  public let permissions: UInt32
  public let owner: UInt32
  public let device: UInt64
  public let inode: UInt64
  public let modified: Int64
  /// The same time, nanoseconds since 1970.
  public let modifiedNanoseconds: Int64

  init(_ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFDIR: kind = .directory
    case S_IFLNK: kind = .link
    default: kind = .other
    }
    size = Int64(status.st_size)
    allocated = Int64(status.st_blocks) * 512
    permissions = status.st_mode & 0o7777
    owner = status.st_uid
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Int64(status.st_mtim.tv_sec)
    modifiedNanoseconds = modified &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
  }

  /// fstat(2).
  init(descriptor: Int32) throws(Errno) {
    var status = stat()
    try checked { unsafe fstat(descriptor, &status) }
    self.init(status)
  }
}

public enum FileSystem {
  /// lstat(2).
  public static func attributes(_ path: String) throws(Errno) -> FileAttributes {
    var status = stat()
    try checked { unsafe lstat(path, &status) }
    return FileAttributes(status)
  }

  /// mkdir(2); an existing directory is no error.
  public static func makeDirectory(_ path: String, mode: UInt32 = 0o700) throws(Errno) {
    do throws(Errno) { try checked { unsafe mkdir(path, mode) } } catch {
      guard error == .exists, try attributes(path).kind == .directory else { throw error }
    }
  }

  /// Makes a directory and its missing parents.
  public static func makeDirectories(_ path: String, mode: UInt32 = 0o700) throws(Errno) {
    do throws(Errno) {
      try makeDirectory(path, mode: mode)
    } catch {
      guard error == .noEntry, let parent = parent(of: path) else { throw error }
      try makeDirectories(parent, mode: mode)
      try makeDirectory(path, mode: mode)
    }
  }

  /// The path without its last component; nil at the root or for a bare name.
  public static func parent(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return nil }
    return String(path[..<slash])
  }

  /// chmod(2).
  public static func setPermissions(_ path: String, _ mode: UInt32) throws(Errno) {
    try checked { unsafe chmod(path, mode) }
  }

  /// unlink(2); a missing file is no error.
  public static func removeFile(_ path: String) throws(Errno) {
    do throws(Errno) { try checked { unsafe unlink(path) } } catch { if error != .noEntry { throw error } }
  }

  /// rmdir(2).
  public static func removeDirectory(_ path: String) throws(Errno) { try checked { unsafe rmdir(path) } }

  /// Removes a directory and all below it, following no link.
  public static func removeTree(_ path: String) throws(Errno) {
    for name in try list(path) {
      let child = path + "/" + name
      if try attributes(child).kind == .directory { try removeTree(child) } else { try removeFile(child) }
    }
    try removeDirectory(path)
  }

  /// rename(2).
  public static func rename(_ from: String, to: String) throws(Errno) { try checked { unsafe Glibc.rename(from, to) } }

  /// The names in a directory, without `.` and `..`, in no order; names that are not UTF-8 are left out.
  public static func list(_ path: String) throws(Errno) -> [String] {
    guard let directory = unsafe opendir(path) else { throw Errno.last }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while true {
      // The end and a failure look alike but for this.
      errno = 0
      guard let entry = unsafe readdir(directory) else { break }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { buffer in
        unsafe String(validating: unsafe buffer.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
    if errno != 0 { throw Errno.last }
    return names
  }

  /// The whole file.
  public static func read(_ path: String) throws(Errno) -> [UInt8] {
    let file = File(owning: try checked { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    var bytes: [UInt8] = []
    while true {
      let part = try file.readSequential(count: 65536)
      if part.isEmpty { return bytes }
      bytes += part
    }
  }

  /// Writes a file in place of any older one: a temporary name, then rename(2).
  public static func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(Errno) {
    let temporary = path + ".tmp"
    try removeFile(temporary)
    let file = try File.open(temporary, .write, create: mode)
    try file.write(bytes, at: 0)
    try rename(temporary, to: path)
  }

  /// Space of the file system that holds `path` (statvfs(3)): total and free to an ordinary user, bytes.
  public static func space(_ path: String) throws(Errno) -> (total: Int64, free: Int64) {
    var status = statvfs()
    try checked { unsafe statvfs(path, &status) }
    let unit = Int64(status.f_frsize)
    return (Int64(clamping: status.f_blocks) * unit, Int64(clamping: status.f_bavail) * unit)
  }

  /// realpath(3).
  public static func resolve(_ path: String) throws(Errno) -> String {
    guard let resolved = unsafe realpath(path, nil) else { throw Errno.last }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}

extension File {
  /// read(2) at the file's own position: for /proc and pipes.
  public func readSequential(count: Int) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Errno) {
        filled = try checked { unsafe Glibc.read(descriptor, buffer.baseAddress, count) }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }
}
