// Directories for one test, gone with their owner or with the process.
import Glibc
import MirrorPlatform
import Synchronization

/// A fresh directory below TMPDIR, removed with all in it.
public final class TemporaryDirectory: Sendable {
  public let path: String

  /// `name` shows in the path, which begins with `s3mirror-test-`; `place` is another one than TMPDIR.
  public init(_ name: String, in place: String? = nil) throws {
    let root = place ?? startEnvironment["TMPDIR"] ?? "/tmp"
    var template = Array("\(root)/s3mirror-test-\(name)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemFailure("mkdtemp in \(root)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    AtExit.remove(path)
  }
  deinit { remove() }

  public func remove() {
    // A thread that is about to end may put a file back or take one away: then it is removed once no test runs any more.
    if (try? FileSystem.removeTree(path)) != nil { AtExit.forget(path) }
  }

  /// The path of a name in it.
  public func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// What an ordinary end of the process must still undo.
enum AtExit {
  private struct Duties {
    var registered = false
    var processes: Set<pid_t> = []
    var mounts: Set<String> = []
    var paths: Set<String> = []
  }
  private static let duties = Mutex(Duties())

  static func kill(_ process: pid_t) { change { $0.processes.insert(process) } }
  static func unmount(_ path: String) { change { $0.mounts.insert(path) } }
  static func remove(_ path: String) { change { $0.paths.insert(path) } }
  static func forget(_ path: String) {
    change {
      $0.mounts.remove(path)
      $0.paths.remove(path)
    }
  }
  static func forget(process: pid_t) { change { $0.processes.remove(process) } }

  private static func change(_ body: (inout Duties) -> Void) {
    duties.withLock { duties in
      body(&duties)
      if !duties.registered { atexit { AtExit.perform() } }
      duties.registered = true
    }
  }

  private static func perform() {
    let left = duties.withLock { $0 }
    for process in left.processes { _ = Glibc.kill(process, SIGKILL) }
    for path in left.mounts { _ = try? runBlocking(["umount", "-l", path], limit: .seconds(5)) }
    for path in left.paths {
      try? FileSystem.removeFile(path)
      for _ in 0..<20 where (try? FileSystem.attributes(path)) != nil {
        if (try? FileSystem.removeTree(path)) == nil { usleep(50_000) }
      }
    }
  }
}
