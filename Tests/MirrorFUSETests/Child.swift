// A python3 process that touches the mount in the test's stead, so that a test can never hang in its own mount.
import Dispatch
import Glibc
import MirrorPlatform
import Testing

/// What a child printed, and how it ended.
struct ChildResult: Sendable {
  let status: Int32
  let output: String
  let killed: Bool
}

final class Child: Sendable {
  static let interpreter = ["/usr/bin/python3", "/usr/local/bin/python3"].first { (path: String) in
    access(path, X_OK) == 0
  }

  let pid: pid_t
  private let output: File

  /// Starts `script` with `arguments` in sys.argv[1...].
  init(_ script: String, _ arguments: [String]) throws {
    var ends: [Int32] = [0, 0]
    try checked { pipe(&ends) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    output = File(owning: ends[0])
    defer { close(ends[1]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
    let words = [Self.interpreter ?? "/usr/bin/python3", "-u", "-c", Self.prelude + script] + arguments
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    // Dispatch's threads block signals, and a child would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var child = pid_t()
    let error = posix_spawn(&child, words[0], &actions, &attributes, pointers, environ)
    guard error == 0 else { throw Errno(rawValue: error) }
    pid = child
  }

  private static let prelude = """
    import ctypes, errno, hashlib, os, signal, sys, threading, time
    libc = ctypes.CDLL(None, use_errno=True)
    root = sys.argv[1]

    """

  /// Waits for the end, at most so long; then the child is killed.
  func finish(within limit: Duration = .seconds(15)) async -> ChildResult {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: self.wait(limit)) }
    }
  }

  private func wait(_ limit: Duration) -> ChildResult {
    let clock = SystemClock()
    let deadline = clock.now() + limit
    var text: [UInt8] = []
    var killed = false
    while true {
      let left = Int32(clamping: (deadline - clock.now()).nanosecondsClamped / 1_000_000)
      var ready = pollfd(fd: output.descriptor, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&ready, 1, left) > 0 else {
        killed = true
        kill(pid, SIGKILL)
        break
      }
      guard let part = try? output.readSequential(count: 65536), !part.isEmpty else { break }
      text += part
    }
    let status = reap(within: .seconds(5)) ?? -1
    return ChildResult(status: status, output: String(decoding: text, as: UTF8.self), killed: killed)
  }

  /// waitpid(2) for at most so long: nil when the process is still there.
  func reap(within limit: Duration) -> Int32? {
    let clock = SystemClock()
    let deadline = clock.now() + limit
    repeat {
      var status: Int32 = 0
      let result = waitpid(pid, &status, WNOHANG)
      if result == pid { return status }
      if result == -1 { return nil }
      usleep(1000)
    } while clock.now() < deadline
    return nil
  }

  /// What a whole run printed, trimmed; how it failed, if it did, so that a comparison shows it.
  static func run(_ script: String, _ arguments: [String]) async -> String {
    guard let child = try? Child(script, arguments) else { return "python3 could not be started" }
    let result = await child.finish()
    guard result.status == 0, !result.killed else { return "status \(result.status), \(result.output)" }
    var text = result.output
    while text.last == "\n" { text.removeLast() }
    return text
  }

  /// Expects a whole run to print just this.
  static func run(
    _ script: String, _ arguments: [String], prints expected: String, at location: SourceLocation = #_sourceLocation
  ) async {
    let output = await run(script, arguments)
    #expect(output == expected, sourceLocation: location)
  }
}
