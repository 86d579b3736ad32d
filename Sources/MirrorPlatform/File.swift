// One open file descriptor, closed with its owner.
import CGlibc
import Glibc

/// An open file; closed when released. Reads and writes carry their offset, so threads may share it.
public final class File: Sendable {
  public let descriptor: Int32

  /// Takes ownership of an open descriptor.
  public init(owning descriptor: Int32) { self.descriptor = descriptor }
  deinit { close(descriptor) }

  public enum Access: Sendable { case read, write, readWrite }

  /// open(2) with O_CLOEXEC and O_NOFOLLOW; `create` gives the mode of a file that must not exist yet.
  public static func open(_ path: String, _ access: Access, create mode: UInt32? = nil) throws(Errno) -> File {
    var flags = O_CLOEXEC | O_NOFOLLOW
    switch access {
    case .read: flags |= O_RDONLY
    case .write: flags |= O_WRONLY
    case .readWrite: flags |= O_RDWR
    }
    if mode != nil { flags |= O_CREAT | O_EXCL }
    return File(owning: try checked { unsafe Glibc.open(path, flags, mode ?? 0) })
  }

  /// Opens a file for reading and writing, made with `mode` when absent.
  public static func openOrCreate(_ path: String, mode: UInt32) throws(Errno) -> File {
    File(owning: try checked { unsafe Glibc.open(path, O_CLOEXEC | O_NOFOLLOW | O_RDWR | O_CREAT, mode) })
  }

  /// fcntl(2) F_DUPFD_CLOEXEC: another descriptor of the same open file.
  public static func duplicate(_ descriptor: Int32) throws(Errno) -> File {
    File(owning: try checked { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) })
  }

  /// pread(2) until the buffer is full or the file ends; the count that was read.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    var done = 0
    while done < buffer.count {
      let count = try checked {
        unsafe pread(descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done, Int(offset) + done)
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// What reads past the page cache must be a multiple of: place, length, and address.
  private static let directUnit = 4096

  /// Fills the buffer from the disk alone (open(2), O_DIRECT), if the kernel has no page of that part of the file; false
  /// where it has, and where the file system can't. Behind the buffer is memory up to a multiple of 4096 bytes, which is
  /// written to as well.
  public func readPastCache(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool {
    let unit = Self.directUnit
    guard let start = buffer.baseAddress, Int(bitPattern: start) % unit == 0, offset % Int64(unit) == 0,
      cglibc_has_pages(descriptor, offset, Int64(buffer.count)) == 0
    else { return false }
    // For this once: a descriptor kept for it would be one more for each file.
    let direct = cglibc_open_direct(descriptor)
    guard direct >= 0 else { return false }
    defer { close(direct) }
    let whole = (buffer.count + unit - 1) / unit * unit
    return unsafe pread(direct, start, whole, Int(offset)) >= buffer.count
  }

  /// The bytes in `[offset, offset + count)`, fewer at the end of the file.
  public func read(at offset: Int64, count: Int) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Errno) {
        filled = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// pwrite(2) of all bytes.
  public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    var done = 0
    while done < bytes.count {
      done += try checked {
        unsafe pwrite(descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, Int(offset) + done)
      }
    }
  }

  public func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(Errno) { try unsafe write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  public func write(_ bytes: RawSpan, at offset: Int64) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(Errno) { try unsafe write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// fdatasync(2).
  public func synchronize() throws(Errno) { try checked { fdatasync(descriptor) } }

  /// syncfs(2): all that was written to the file system that this file or directory lies on.
  public func synchronizeFileSystem() throws(Errno) { try checked { cglibc_syncfs(descriptor) } }

  /// ftruncate(2).
  public func resize(to size: Int64) throws(Errno) { try checked { ftruncate(descriptor, Int(size)) } }

  /// posix_fadvise(2) POSIX_FADV_DONTNEED: a hint, so a failure is no error.
  public func forgetPages(offset: Int64, length: Int64) { _ = cglibc_forget_pages(descriptor, offset, length) }

  /// flock(2) LOCK_EX | LOCK_NB: false when another process holds it; released with the descriptor.
  public func lock() throws(Errno) -> Bool {
    do throws(Errno) { try checked { flock(descriptor, LOCK_EX | LOCK_NB) } } catch {
      if error == .wouldBlock { return false }
      throw error
    }
    return true
  }

  public func attributes() throws(Errno) -> FileAttributes {
    var status = stat()
    try checked { unsafe fstat(descriptor, &status) }
    return FileAttributes(status)
  }
}
