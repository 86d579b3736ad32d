// Why a cache directory can't be used, in terms of what its user may do about it.
import MirrorPlatform

/// A failed call on a cache: a code to switch on, the path it is about, and what happened.
public struct CacheError: Error, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// It can't be made, read or written, or is not this user's.
    case unusable
    /// Another process owns it; 0 where that process left no id.
    case locked(Int32)
    /// The disk or the quota is full.
    case noSpace
    /// Its content contradicts itself.
    case damaged
    /// A newer release wrote it.
    case newerVersion
  }

  public let code: Code
  public let path: String
  public let message: String

  public init(_ code: Code, path: String, message: String) {
    self.code = code
    self.path = path
    self.message = message
  }

  public var description: String { "\(path): \(message)" }
}

extension CacheError {
  /// A failed call of the system, and what it was meant to do.
  init(_ errno: Errno, path: String, doing what: String) {
    let full = errno == .noSpace || errno == .quotaExceeded
    self.init(full ? .noSpace : .unusable, path: path, message: "can't \(what): \(errno)")
  }

  /// A failed call of SQLite.
  init(_ error: SQLiteError, path: String) {
    let code: Code = error.isDamage ? .damaged : error.isFull ? .noSpace : .unusable
    self.init(code, path: path, message: "catalogue: \(error)")
  }

  static func locked(by pid: Int32, path: String) -> CacheError {
    let who = pid > 0 ? "process \(pid)" : "another process"
    return CacheError(.locked(pid), path: path, message: "in use by \(who)")
  }
}
