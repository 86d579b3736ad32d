// One row of the fault matrix at work: a bucket, the way to it, a mount of it, and the disk below.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

final class FaultScene: Sendable {
  let kind: FaultKind
  /// Rounds differ in what is left open: whether an object changes, how often is retried, when a signal comes.
  let round: Int
  /// The slice that runs with all other tests: as short as may be.
  let isShort: Bool
  let server: FakeS3
  let mount: MountFixture
  let shim: FaultShim
  let disk: SmallDisk?
  /// In front of the server, where its way there is what breaks.
  let front: PortSwitch?
  private let secure: [SecureServer]
  private let silent: SilentAddress?
  /// The server of a portal that redirects lead to.
  let elsewhere: FakeS3
  let state = Mutex(State())

  struct State {
    /// What holds the catalogue's lock or will send a signal.
    var helper: Task<Void, any Error>?
    var group: MemoryGroup?
    var limit: String?
    var slept: Int32 = 0
    /// Requests counted since the mount that the server never read, of each kind.
    var unread = [0, 0, 0, 0]
    /// Of the last command that failed.
    var lastWords = ""
  }

  init(_ kind: FaultKind, round: Int, isShort: Bool) throws {
    self.kind = kind
    self.round = round
    self.isShort = isShort
    server = try FakeS3()
    FaultContent.fill(server, isChecked: kind == .corruptedByte)
    elsewhere = try FakeS3()
    elsewhere.inject(.html)
    shim = try FaultShim()
    disk = kind.needsSmallDisk ? try SmallDisk(size: 48 << 20, inodes: 600) : nil
    var endpoint = server.endpoint
    var environment = shim.environment
    environment["AWS_MAX_ATTEMPTS"] = isShort ? "1" : round % 5 == 4 ? nil : "2"
    if kind.needsSecurity {
      let secure = try [SecureServer(to: server.port), SecureServer(to: server.port)]
      let front = try PortSwitch(.to(secure[0].port))
      endpoint = "https://localhost:\(front.port)"
      environment["AWS_CA_BUNDLE"] = secure[0].authority
      (self.secure, self.front) = (secure, front)
    } else {
      (secure, front) = ([], nil)
    }
    if kind.needsName { endpoint = "http://s3.fault.test:\(server.port)" }
    silent = kind == .silentAddress ? try SilentAddress(port: server.port) : nil
    mount = try MountFixture(
      server.bucket, endpoint: endpoint, cache: disk.map { $0.path + "/cache" }, environment: environment)
  }

  /// Another authority's.
  var untrusted: UInt16 { secure.last?.port ?? 0 }
  var trusted: UInt16 { secure.first?.port ?? 0 }

  static let options = [
    "--cache-size", "8MiB", "--min-free", "0", "--part-size", "1MiB", "--freshness", "val/**=300ms", "--freshness",
    "1h",
    "--negative-freshness", "0s",
  ]

  /// Mounts, and begins to count anew.
  func mountNow() async throws -> CommandResult {
    server.reset()
    state.withLock { $0.unread = [0, 0, 0, 0] }
    return try await mount.mount(Self.options, through: prefix, limit: .seconds(600))
  }

  /// What a start is run by, where a limit is to hold from its beginning.
  private var prefix: [String] {
    state.withLock { state in
      if let group = state.group { return ["sh", "-c", "echo $$ > \"$0\"; exec \"$@\"", group.processes] }
      if let limit = state.limit { return ["prlimit", "--nofile=\(limit)"] }
      return []
    }
  }

  /// A mount that must come about.
  func mountWell() async throws {
    var last: CommandResult?
    let mounted = try await eventually(within: .seconds(15)) {
      let result = try await mountNow()
      last = result
      return result.succeeded
    }
    if !mounted { throw FaultFailure("does not mount: \(last.map { "\($0)" } ?? "")") }
  }

  /// The directory of this source in the cache.
  var sourceDirectory: String? {
    ((try? FileSystem.list(mount.cache)) ?? []).map { "\(mount.cache)/\($0)" }.first { path in
      (try? FileSystem.attributes(path + "/source")) != nil
    }
  }
}

/// What is wrong with a cell, in words.
struct FaultFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
