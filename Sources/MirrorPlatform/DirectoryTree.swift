// Writing files below a directory under names that others chose: no name leads out of it, and no link is followed.
import CGlibc
import Glibc

/// An open directory. Names are single components: bytes without `/`, and neither `.` nor `..`.
public final class DirectoryTree: Sendable {
  private let file: File
  private init(owning descriptor: Int32) { file = File(owning: descriptor) }

  /// An existing directory; a link to one will do.
  public static func open(_ path: String) throws(Errno) -> DirectoryTree {
    DirectoryTree(owning: try checked { unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
  }

  /// The directory of this name, made where it is missing; ENOTDIR or ELOOP where something else is in its place.
  public func directory(_ name: [UInt8]) throws(Errno) -> DirectoryTree {
    let text = try Self.component(name)
    do throws(Errno) { try checked { unsafe mkdirat(file.descriptor, text, 0o777) } } catch {
      if error != .exists { throw error }
    }
    return DirectoryTree(owning: try checked { unsafe cglibc_open_directory_at(file.descriptor, text) })
  }

  /// A new file that takes this name only when `write` has succeeded, in place of an older file or link of the name.
  public func put(
    _ name: [UInt8], mode: UInt32, modified: Int64?, _ write: (File) throws(Errno) -> Void
  ) throws(Errno) {
    let text = try Self.component(name)
    let temporary = try Self.component(Array(".s3mirror-\(ThisProcess.identifier).tmp".utf8))
    _ = unsafe unlinkat(file.descriptor, temporary, 0)
    let new = File(owning: try checked { unsafe cglibc_create_at(file.descriptor, temporary, mode) })
    do throws(Errno) {
      try write(new)
      if let modified { try checked { cglibc_set_modified(new.descriptor, modified) } }
      try checked { unsafe renameat(file.descriptor, temporary, file.descriptor, text) }
    } catch {
      _ = unsafe unlinkat(file.descriptor, temporary, 0)
      throw error
    }
  }

  /// With its NUL; EINVAL for what is no single name.
  private static func component(_ name: [UInt8]) throws(Errno) -> [CChar] {
    let isName = !name.isEmpty && !name.contains(0) && !name.contains(0x2F) && name != [0x2E] && name != [0x2E, 0x2E]
    guard isName else { throw Errno.invalid }
    return name.map { CChar(bitPattern: $0) } + [0]
  }
}
