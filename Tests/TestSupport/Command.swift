// Child processes: run to the end with a time limit, or kept as a server that dies with the tests.
import Glibc
import MirrorPlatform
import Synchronization

/// How a command ended.
public struct CommandResult: Sendable, CustomStringConvertible {
  /// The exit status; 128 + the signal's number when a signal ended it, as a shell says.
  public let status: Int32
  public let output: String
  public let errors: String
  public let timedOut: Bool
  public var succeeded: Bool { status == 0 && !timedOut }
  public var description: String {
    "status \(status)\(timedOut ? " (timed out)" : "")\noutput: \(output)\nerrors: \(errors)"
  }
}

/// Runs a program to its end; past `limit` its process group is killed.
public func run(
  _ arguments: [String], environment: [String: String] = [:], limit: Duration = .seconds(30)
) async throws -> CommandResult {
  try await blocking { try runBlocking(arguments, environment: environment, limit: limit) }
}

/// The same, holding the calling thread.
public func runBlocking(
  _ arguments: [String], environment: [String: String] = [:], limit: Duration = .seconds(30)
) throws -> CommandResult {
  // Files, not pipes: a daemon left behind would hold a pipe open.
  let directory = try TemporaryDirectory("command")
  let (out, err) = (directory.path + "/out", directory.path + "/err")
  let child = try spawn(arguments, environment: environment, output: out, errors: err)
  let end = ContinuousClock.now + limit
  var status: Int32 = 0
  var timedOut = false
  while waitpid(child, &status, timedOut ? 0 : WNOHANG) == 0 {
    if ContinuousClock.now >= end {
      timedOut = true
      kill(-child, SIGKILL)
    } else {
      pause(.milliseconds(2))
    }
  }
  return CommandResult(
    status: exitStatus(status), output: text(of: out), errors: text(of: err), timedOut: timedOut)
}

private func text(of path: String) -> String {
  String(decoding: (try? FileSystem.read(path)) ?? [], as: UTF8.self)
}

func exitStatus(_ status: Int32) -> Int32 {
  status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
}

/// The environment this process was started with.
public let startEnvironment: [String: String] = {
  var environment: [String: String] = [:]
  for entry in ((try? FileSystem.read("/proc/self/environ")) ?? []).split(separator: 0) {
    let pair = entry.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
    guard pair.count == 2 else { continue }
    environment[String(decoding: pair[0], as: UTF8.self)] = String(decoding: pair[1], as: UTF8.self)
  }
  return environment
}()

/// The full path of a program, as a shell would find it.
public func findProgram(_ name: String) -> String? {
  if name.contains("/") { return access(name, X_OK) == 0 ? name : nil }
  return (startEnvironment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
}

/// Starts a program in a process group of its own, without standard input.
func spawn(_ arguments: [String], environment: [String: String], output: String, errors: String) throws -> pid_t {
  guard let name = arguments.first, let program = findProgram(name) else {
    throw SystemFailure(message: "\(arguments.first ?? ""): not found")
  }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
  posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
  posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  // The threads of this process block most signals; a program expects to be told of them.
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
  let variables = startEnvironment.merging(environment) { $1 }.map { "\($0)=\($1)" }
  let argv = arguments.map { strdup($0) } + [nil]
  let envp = variables.map { strdup($0) } + [nil]
  defer { (argv + envp).forEach { free($0) } }
  var child = pid_t()
  let failed = posix_spawn(&child, program, &actions, &attributes, argv, envp)
  guard failed == 0 else { throw SystemFailure(message: "\(program): \(Errno(rawValue: failed))") }
  return child
}

/// A server process; killed by the kernel when the tests end, however they end.
public final class ServerProcess: Sendable {
  public let identifier: pid_t
  private let ended = SharedFlag()

  /// Started and awaited on one thread that lives as long as the child: the death signal is bound to the thread.
  init(_ arguments: [String], environment: [String: String], log: String) throws {
    let outcome = Promise<Result<pid_t, SystemFailure>>()
    let ended = self.ended
    detachThread {
      do {
        let child = try spawn(
          ["setpriv", "--pdeathsig", "KILL"] + arguments, environment: environment, output: log, errors: log)
        outcome.set(.success(child))
        var status: Int32 = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        ended.raise()
      } catch {
        outcome.set(.failure(error as? SystemFailure ?? SystemFailure(message: "\(error)")))
      }
    }
    identifier = try outcome.wait().get()
  }

  public var isRunning: Bool { !ended.isRaised }

  /// SIGKILL, and waits for the end.
  public func stop() {
    guard isRunning else { return }
    kill(identifier, SIGKILL)
    while isRunning { pause(.milliseconds(1)) }
  }
}

private final class SharedFlag: Sendable {
  private let value = Atomic(false)
  var isRaised: Bool { value.load(ordering: .acquiring) }
  func raise() { value.store(true, ordering: .releasing) }
}
