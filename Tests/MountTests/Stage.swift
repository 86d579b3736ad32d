// What a mounted test stands on: a bucket whose requests are counted, a mount of it, and what a step costs.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

/// A server that counts what it is asked.
protocol CountedOrigin: AnyObject, Sendable {
  var sums: RequestSums { get }
  var requests: [RecordedRequest] { get }
  var endpoint: String { get }
}
extension FakeS3: CountedOrigin {}
extension CountingProxy: CountedOrigin {}

/// A bucket of the real server; the mount sees it through a proxy that counts, the test changes it past the proxy.
struct RealBucket {
  let server: RealServer
  let proxy: CountingProxy
  let name: String

  static func make() async throws -> RealBucket {
    let server = try await RealServer.shared()
    return RealBucket(
      server: server, proxy: try CountingProxy(to: server.port), name: try await server.makeBucket())
  }

  func put(_ key: String, _ bytes: [UInt8]) async throws { try await server.put(name, key, bytes) }
  func put(_ key: String, _ text: String) async throws { try await server.put(name, key, text) }
  func put(_ key: ObjectKey, _ bytes: [UInt8]) async throws { try await server.put(name, key, bytes) }
  func delete(_ key: String) async throws { try await server.delete(name, key) }

  func mounted(_ options: String..., cache: String? = nil) async throws -> Stage {
    try await mounted(options, cache: cache)
  }

  func mounted(_ options: [String], cache: String? = nil) async throws -> Stage {
    let mount = try await MountFixture.mounted(
      name, endpoint: proxy.endpoint, options: options, cache: cache, limit: .seconds(60))
    return Stage(mount: mount, origin: proxy)
  }
}

extension FakeS3 {
  func mounted(_ options: String..., cache: String? = nil, limit: Duration = .seconds(60)) async throws -> Stage {
    let mount = try await MountFixture.mounted(bucket, endpoint: endpoint, options: options, cache: cache, limit: limit)
    return Stage(mount: mount, origin: self)
  }
}

/// A mount and the counter behind it.
struct Stage {
  let mount: MountFixture
  let origin: any CountedOrigin

  /// What a step costs at the server, which must also be what `status --json` says.
  func cost<Value>(sourceLocation: SourceLocation = #_sourceLocation, _ step: () async throws -> Value) async throws
    -> (Value, RequestSums)
  {
    var before = (origin.sums, try await reported())
    // What the step before has asked for may be counted only now.
    for _ in 0..<20 {
      let now = (origin.sums, try await reported())
      if now == before { break }
      before = now
    }
    let value = try await step()
    // The last answer may be counted a moment after the reader has its bytes.
    let end = ContinuousClock.now + .seconds(3)
    while true {
      let spent = origin.sums - before.0
      let told = try await reported() - before.1
      if told == spent.asTold { return (value, origin.sums - before.0) }
      if ContinuousClock.now > end {
        Issue.record("status counted \(told), the server \(spent)", sourceLocation: sourceLocation)
        return (value, spent)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func reported() async throws -> RequestSums {
    let status = try await mount.status()
    var sums = RequestSums()
    sums.gets = try status.count("get")
    sums.heads = try status.count("head")
    sums.lists = try status.count("list")
    sums.others = try status.count("other")
    sums.notModified = try status.count("notModified")
    sums.failed = try status.count("failed")
    return sums
  }
}

extension RequestSums {
  static func - (left: RequestSums, right: RequestSums) -> RequestSums {
    var sums = left
    sums.gets -= right.gets
    sums.heads -= right.heads
    sums.lists -= right.lists
    sums.bucketHeads -= right.bucketHeads
    sums.others -= right.others
    sums.notModified -= right.notModified
    sums.failed -= right.failed
    sums.bodyBytes -= right.bodyBytes
    return sums
  }

  /// As `status` counts: HeadBucket is a HEAD, and bytes are told elsewhere.
  fileprivate var asTold: RequestSums {
    var sums = self
    sums.heads += bucketHeads
    sums.bucketHeads = 0
    sums.bodyBytes = 0
    return sums
  }
}

/// Waits until a lifetime is over, and the moment for which an answer still counts after it.
func pass(_ lifetime: Duration) async throws { try await Task.sleep(for: lifetime + .milliseconds(200)) }

/// Bytes that look random, the same for the same seed.
func content(_ size: Int, _ seed: UInt64) -> [UInt8] {
  FakeBody.generated(size: Int64(size), pattern: .init(seed: seed)).slice(0, Int64(size))
}

/// Length and SHA-256, so that a failed comparison can be read.
func fingerprint(_ bytes: [UInt8]) -> String { "\(bytes.count):\(hexadecimal(Digest.value(.sha256, of: bytes)))" }

extension MountFixture {
  /// Of a whole file, as read through the mount.
  func fingerprint(_ name: String) async throws -> String { MountTests.fingerprint(try await read(name)) }
}

/// Runs Python text; its arguments are in sys.argv[1...].
func python(_ script: String, _ arguments: String..., limit: Duration = .seconds(60)) async throws -> CommandResult {
  try await run(["python3", "-c", script] + arguments, limit: limit)
}

/// Asks again until an asynchronous condition holds; false when it did not in time.
func eventually(within limit: Duration = .seconds(10), _ condition: () async throws -> Bool) async rethrows -> Bool {
  let end = ContinuousClock.now + limit
  while true {
    if try await condition() { return true }
    if ContinuousClock.now >= end { return false }
    try? await Task.sleep(for: .milliseconds(20))
  }
}

/// What the machine lets tests do.
enum Machine {
  static let canMount = MountFixture.isAvailable
  static let hasRealServer = MountFixture.isAvailable && RealServer.isAvailable
  static let isRoot = getuid() == 0
  /// Runs what follows as a user with no rights; root.
  static let asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
  /// Whether such a user can run the program where it lies.
  static func nobodyCanRun() async throws -> Bool {
    guard isRoot, let program = MountFixture.program else { return false }
    return try await run(asNobody + [program, "--version"]).succeeded
  }
  static let canTrace = getuid() == 0 && findProgram("strace") != nil
}
