// How a command ends: numbers that scripts rely on, and one line for people.

/// The process's exit code; a number never changes its meaning.
public enum ExitCode: Int32, Sendable {
  case done = 0
  case failure = 1
  case usage = 2
  case mountPointUnusable = 3
  case noSuchBucket = 4
  case denied = 5
  case unreachable = 6
  case cacheUnusable = 7
  case notMounted = 8
  case damaged = 9
}

/// A command that can't be carried out: what happened, to what, what to do, in one line.
public struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
  public let code: ExitCode
  public let message: String

  public init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
  public var description: String { message }
}
