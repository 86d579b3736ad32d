// A failed C call: its errno, in Swift words.
import CGlibc
import Glibc

/// The errno of a failed call (errno(3)).
public struct Errno: Error, RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let noEntry = Errno(rawValue: ENOENT)
  public static let accessDenied = Errno(rawValue: EACCES)
  public static let inputOutput = Errno(rawValue: EIO)
  public static let stale = Errno(rawValue: ESTALE)
  public static let readOnly = Errno(rawValue: EROFS)
  public static let isDirectory = Errno(rawValue: EISDIR)
  public static let notDirectory = Errno(rawValue: ENOTDIR)
  public static let interrupted = Errno(rawValue: EINTR)
  public static let exists = Errno(rawValue: EEXIST)
  public static let tooLarge = Errno(rawValue: EFBIG)
  public static let noSpace = Errno(rawValue: ENOSPC)
  public static let quotaExceeded = Errno(rawValue: EDQUOT)
  public static let wouldBlock = Errno(rawValue: EWOULDBLOCK)
  public static let invalid = Errno(rawValue: EINVAL)
  public static let notSupported = Errno(rawValue: EOPNOTSUPP)
  public static let notImplemented = Errno(rawValue: ENOSYS)
  public static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  public static let outOfRange = Errno(rawValue: ERANGE)
  public static let notConnected = Errno(rawValue: ENOTCONN)
  public static let busy = Errno(rawValue: EBUSY)
  public static let permission = Errno(rawValue: EPERM)
  public static let timedOut = Errno(rawValue: ETIMEDOUT)
  public static let noAttribute = Errno(rawValue: ENODATA)

  /// errno(3) of the call just made on this thread.
  public static var last: Errno { Errno(rawValue: errno) }

  public var description: String {
    var buffer = [CChar](repeating: 0, count: 128)
    let text = unsafe cglibc_error_text(rawValue, &buffer, buffer.count)
    return unsafe text.map { unsafe String(cString: $0) } ?? "error \(rawValue)"
  }
}

/// Runs a call that returns -1 on failure, again while a signal interrupts it.
@discardableResult
package func checked<Value: SignedInteger>(_ call: () -> Value) throws(Errno) -> Value {
  while true {
    let value = call()
    if value != -1 { return value }
    let error = Errno.last
    if error != .interrupted { throw error }
  }
}
