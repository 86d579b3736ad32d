// A mount of the built program for one test: made, asked, cut, and always taken away.
import Glibc
import MirrorPlatform
import Synchronization

/// One mount with its own mount point, cache and home; unmounted and removed with its last reference.
public final class MountFixture: Sendable {
  /// The program: $S3MIRROR_BINARY, else `s3mirror` beside the test bundle.
  public static let program: String? = {
    if let path = startEnvironment["S3MIRROR_BINARY"] { return findProgram(path) }
    let bundle = (try? FileSystem.resolve("/proc/self/exe")) ?? ""
    return [bundle, startEnvironment["S3MIRROR_TEST_BUNDLE"] ?? ""].compactMap { path in
      FileSystem.parent(of: path).flatMap { findProgram("\($0)/s3mirror") }
    }.first
  }()
  /// Options for every mount ($S3MIRROR_TEST_MOUNT_OPTIONS), to run the same tests another way.
  public static let commonOptions =
    startEnvironment["S3MIRROR_TEST_MOUNT_OPTIONS"]?.split(separator: " ").map(String.init) ?? []
  public static var isAvailable: Bool { program != nil && access("/dev/fuse", R_OK | W_OK) == 0 }

  public let source: String
  public let endpoint: String
  /// The mount point.
  public let point: String
  public let cache: String
  private let home: TemporaryDirectory
  private let extra: [String: String]
  private let state: Mutex<State>
  private struct State {
    var daemon: pid_t?
    var watch: Watchdog?
  }

  /// Prepares a mount of `source` without mounting it. `cache` lets a later mount take over an earlier one's.
  public init(_ source: String, endpoint: String, cache: String? = nil, environment: [String: String] = [:]) throws {
    self.source = source
    self.endpoint = endpoint
    home = try TemporaryDirectory("mount")
    extra = environment
    point = home.file("mnt")
    self.cache = cache ?? home.file("cache")
    try FileSystem.makeDirectory(point)
    state = Mutex(State())
  }

  /// A mount that answers; throws with the program's words where it does not come about.
  public static func mounted(
    _ source: String, endpoint: String, options: [String] = [], cache: String? = nil,
    environment: [String: String] = [:], limit: Duration = .seconds(120)
  ) async throws -> MountFixture {
    let fixture = try MountFixture(source, endpoint: endpoint, cache: cache, environment: environment)
    let result = try await fixture.mount(options, limit: limit)
    guard result.succeeded else { throw SystemFailure(message: "mount \(source): \(result)") }
    return fixture
  }

  deinit { takeAway() }

  /// Mounts, again after an unmount too; `prefix` is a command that runs another. After `limit` a watchdog kills the daemon, so that no test waits for ever.
  @discardableResult
  public func mount(
    _ options: [String] = [], through prefix: [String] = [], limit: Duration = .seconds(120)
  ) async throws -> CommandResult {
    AtExit.unmount(point)
    let result = try await command(
      ["mount", "--endpoint-url", endpoint, "--cache-dir", cache] + Self.commonOptions + options + [source, point],
      through: prefix, limit: .seconds(60))
    if result.succeeded {
      let watch = Watchdog(point: point, limit: limit)
      state.withLock { $0.watch = watch }
      let daemon = try? await status().number("pid")
      state.withLock { $0.daemon = daemon.map { pid_t($0) } }
    }
    return result
  }

  /// Runs the program with this fixture's environment: `["status", "--json"]`.
  public func command(
    _ arguments: [String], through prefix: [String] = [], limit: Duration = .seconds(30)
  ) async throws -> CommandResult {
    guard let program = Self.program else { throw SystemFailure(message: "s3mirror: not built") }
    return try await run(prefix + [program] + arguments, environment: environment, limit: limit)
  }

  /// Nothing of the machine's own AWS settings counts.
  public var environment: [String: String] {
    [
      "HOME": home.path, "XDG_CACHE_HOME": home.path, "XDG_RUNTIME_DIR": home.path, "XDG_CONFIG_HOME": home.path,
      "AWS_ACCESS_KEY_ID": RealServer.accessKey, "AWS_SECRET_ACCESS_KEY": RealServer.secretKey,
      "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": home.file("none"),
      "AWS_SHARED_CREDENTIALS_FILE": home.file("none"),
    ].merging(extra) { $1 }
  }

  public var isMounted: Bool { MountTable.contains(point) }

  /// Those of commands about it, too.
  public var allProcesses: [pid_t] { Daemons.of(point) }

  /// Unmounts as a user would, and waits for the daemon to end.
  @discardableResult
  public func unmount(lazy: Bool = false) async throws -> CommandResult {
    let result = try await command(["unmount"] + (lazy ? ["--lazy"] : []) + [point])
    if result.succeeded {
      let daemon = state.withLock { $0.daemon }
      if let daemon { _ = await eventually { kill(daemon, 0) != 0 } }
      state.withLock { $0 = State() }
    }
    return result
  }

  /// The daemon's process.
  public var daemon: pid_t? { state.withLock { $0.daemon } ?? Daemons.of(point).first }

  /// Sends a signal to them all.
  public func signal(_ signal: Int32) { for process in processes { _ = kill(process, signal) } }

  /// All processes that make or serve this mount.
  public var processes: [pid_t] { state.withLock { $0.daemon }.map { [$0] } ?? Daemons.of(point) }

  /// SIGKILL, as a crash; the dead mount is taken from the tree, so that `mount` works again.
  public func killDaemon() async throws {
    try await blocking { [point] in
      Daemons.kill(point)
      MountTable.detach(point)
    }
    state.withLock { $0 = State() }
  }

  private func takeAway() {
    state.withLock { $0 = State() }
    if let program = Self.program, isMounted {
      _ = try? runBlocking([program, "unmount", point], environment: environment, limit: .seconds(5))
    }
    Daemons.kill(point)
    MountTable.detach(point)
    AtExit.forget(point)
    // A tree that is still mounted is not ours to remove.
    if !isMounted { home.remove() }
  }
}

// What a program sees in the mount. Each call is made on a thread of its own, since it may wait for the daemon.
extension MountFixture {
  public func path(_ name: String) -> String { name.isEmpty ? point : "\(point)/\(name)" }

  /// The whole file; throws Errno.
  public func read(_ name: String) async throws -> [UInt8] {
    try await blocking { [path = path(name)] in try FileSystem.read(path) }
  }
  public func text(_ name: String) async throws -> String { String(decoding: try await read(name), as: UTF8.self) }
  /// `count` bytes from `offset`, fewer at the end.
  public func read(_ name: String, at offset: Int64, count: Int) async throws -> [UInt8] {
    try await blocking { [path = path(name)] in try File.open(path, .read).read(at: offset, count: count) }
  }
  /// An open file, to hold while things change.
  public func open(_ name: String) async throws -> File {
    try await blocking { [path = path(name)] in try File.open(path, .read) }
  }
  public func read(_ file: File, at offset: Int64, count: Int) async throws -> [UInt8] {
    try await blocking { try file.read(at: offset, count: count) }
  }
  /// lstat(2).
  public func attributes(_ name: String) async throws -> FileAttributes {
    try await blocking { [path = path(name)] in try FileSystem.attributes(path) }
  }
  /// The names in a directory, sorted.
  public func list(_ name: String = "") async throws -> [String] {
    try await blocking { [path = path(name)] in try FileSystem.list(path).sorted() }
  }
  /// An extended attribute of a file; nil where there is none, throws with the errno's name otherwise.
  public func extendedAttribute(_ attribute: String, of name: String) async throws -> String? {
    // getxattr(2) is out of Swift's sight.
    let script = """
      import errno, os, sys
      try: sys.stdout.write(os.getxattr(sys.argv[1], sys.argv[2]).decode())
      except OSError as error: sys.exit(errno.errorcode[error.errno])
      """
    let result = try await run(["python3", "-c", script, path(name), attribute])
    if result.succeeded { return result.output }
    if result.errors == "ENODATA\n" { return nil }
    throw SystemFailure(message: result.errors)
  }
  /// The errno of a call that fails; nil where it succeeds.
  public func errno(of body: () async throws -> Void) async -> Errno? {
    do { try await body() } catch { return error as? Errno ?? Errno(rawValue: -1) }
    return nil
  }
  /// Runs shell text in the mount's root.
  public func shell(_ text: String, limit: Duration = .seconds(30)) async throws -> CommandResult {
    try await run(["sh", "-c", "cd \"$0\" && \(text)", point], environment: environment, limit: limit)
  }

  /// `status POINT --json`.
  public func status() async throws -> StatusText {
    let result = try await command(["status", point, "--json"])
    guard result.succeeded else { throw SystemFailure(message: "status: \(result)") }
    return StatusText(json: result.output)
  }

  /// Makes the kernel forget pages, names and inodes that nobody uses (root).
  public static func dropKernelCaches() async throws {
    try await blocking {
      sync()
      try File.open("/proc/sys/vm/drop_caches", .write).write(Array("3".utf8), at: 0)
    }
  }
}

/// Answers of `--json`, picked by member name; the first of a name counts.
public struct StatusText: Sendable, CustomStringConvertible {
  public let json: String
  public init(json: String) { self.json = json }
  public var description: String { json }

  private func value(_ name: String) -> Substring? {
    guard let member = json.firstRange(of: "\"\(name)\":") else { return nil }
    return json[member.upperBound...].drop { $0 == " " }
  }
  public func number(_ name: String) throws -> Double {
    let text = value(name)?.prefix { "+-.eE0123456789".contains($0) }
    guard let text, let number = Double(text) else { throw SystemFailure(message: "no number \(name) in \(json)") }
    return number
  }
  public func count(_ name: String) throws -> Int { Int(try number(name)) }
  public func text(_ name: String) -> String? {
    guard let value = value(name), value.first == "\"" else { return nil }
    return String(value.dropFirst().prefix { $0 != "\"" })
  }
}
