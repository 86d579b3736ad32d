// A real S3 server (SeaweedFS) on loopback, one for the whole test process.
import Glibc
import MirrorPlatform
import MirrorStore

/// Started on first use; it ends with the tests. Path style, any region.
public final class RealServer: Sendable {
  public static let accessKey = "testaccess"
  public static let secretKey = "testsecret"

  public let port: UInt16
  private let process: ServerProcess
  private let directory: TemporaryDirectory
  /// What the server leaves in /tmp whatever it is told.
  private let sockets: [String]

  /// The program: $S3MIRROR_TEST_WEED, else PATH, else the repository's virtual environment.
  public static let program: String? = {
    if let path = startEnvironment["S3MIRROR_TEST_WEED"] { return findProgram(path) }
    let repository = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    return findProgram("weed") ?? findProgram("\(repository)/.venv/bin/weed")
  }()
  public static var isAvailable: Bool { program != nil }

  private static let first = Result { try RealServer() }

  /// The server of this process.
  public static func shared() async throws -> RealServer { try await blocking { try first.get() } }

  /// A server of one's own, which ends with its last reference or `stop`.
  public static func start() async throws -> RealServer { try await blocking { try RealServer() } }

  private init() throws {
    guard let program = Self.program else { throw SystemFailure(message: "weed: not found") }
    directory = try TemporaryDirectory("weed")
    try FileSystem.makeDirectory(directory.file("data"))
    let identity = """
      {"identities":[{"name":"test","credentials":[{"accessKey":"\(Self.accessKey)","secretKey":"\(Self.secretKey)"}],\
      "actions":["Admin","Read","Write","List","Tagging"]}]}
      """
    try FileSystem.write(Array(identity.utf8), to: directory.file("s3.json"), mode: 0o600)
    let ports = try Self.freePorts(4)
    port = ports[0]
    process = try ServerProcess(
      [
        program, "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-dir=\(directory.file("data"))",
        "-master.port=\(ports[1])", "-master.volumeSizeLimitMB=64", "-volume.port=\(ports[2])", "-volume.max=0",
        "-filer.port=\(ports[3])", "-s3", "-s3.port=\(port)", "-s3.port.iceberg=0", "-s3.port.lance=0",
        "-s3.config=\(directory.file("s3.json"))",
      ], environment: ["TMPDIR": directory.path, "HOME": directory.path], log: directory.file("log"))
    AtExit.kill(process.identifier)
    sockets = ports.flatMap { port in
      ["filer-\(port)", "s3-\(port)"] + ["master", "volume", "filer", "s3"].map { "\($0)-grpc-\(port + 10000)" }
    }.map { "/tmp/seaweedfs-\($0).sock" }
    sockets.forEach { AtExit.remove($0) }
    try waitUntilReady()
  }
  deinit { stop() }

  public func stop() {
    process.stop()
    AtExit.forget(process: process.identifier)
    for socket in sockets {
      try? FileSystem.removeFile(socket)
      AtExit.forget(socket)
    }
    directory.remove()
  }

  public var endpoint: String { "http://127.0.0.1:\(port)" }

  private func waitUntilReady() throws {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end, process.isRunning {
      if let status = try? send("PUT", "/ready").status, status == 200 { return }
      pause(.milliseconds(100))
    }
    let log = (try? FileSystem.read(directory.file("log"))) ?? []
    throw SystemFailure(message: "weed did not start: \(String(decoding: log.suffix(2000), as: UTF8.self))")
  }

  /// Ports that are free, and 10,000 above them too (gRPC); below the range that outgoing connections use.
  private static func freePorts(_ count: Int) throws -> [UInt16] {
    var ports: [UInt16] = []
    for _ in 0..<1000 where ports.count < count {
      let port = UInt16.random(in: 11000..<22000)
      if !ports.contains(port), isFree(port), isFree(port + 10000) { ports.append(port) }
    }
    guard ports.count == count else { throw SystemFailure(message: "no free ports") }
    return ports
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    defer { close(descriptor) }
    return withLoopback(port) { bind(descriptor, $0, $1) } == 0
  }
}

extension RealServer {
  /// A new bucket, of a name no other test has.
  public func makeBucket() async throws -> String {
    let name = "b" + hexadecimal((0..<8).map { _ in UInt8.random(in: 0...255) })
    try await makeBucket(name)
    return name
  }
  public func makeBucket(_ name: String) async throws { try await expect("PUT", "/\(name)") }

  public func put(_ bucket: String, _ key: String, _ bytes: [UInt8], fields: Fields = Fields()) async throws {
    try await put(bucket, ObjectKey(key), bytes, fields: fields)
  }
  public func put(_ bucket: String, _ key: String, _ text: String) async throws {
    try await put(bucket, key, Array(text.utf8))
  }
  public func put(_ bucket: String, _ key: ObjectKey, _ bytes: [UInt8], fields: Fields = Fields()) async throws {
    try await expect("PUT", Self.path(bucket, key), fields: fields, body: bytes)
  }
  public func delete(_ bucket: String, _ key: String) async throws {
    try await expect("DELETE", Self.path(bucket, ObjectKey(key)))
  }

  private static func path(_ bucket: String, _ key: ObjectKey) -> String {
    "/\(bucket)/\(percentEncoded(key.bytes, keepingSlash: true))"
  }

  private func expect(_ method: String, _ path: String, fields: Fields = Fields(), body: [UInt8] = []) async throws {
    let answer = try await blocking { [self] in try send(method, path, fields: fields, body: body) }
    guard (200..<300).contains(answer.status) else {
      throw SystemFailure(
        message: "\(method) \(path): \(answer.status) \(String(decoding: answer.body.prefix(500), as: UTF8.self))")
    }
  }

  /// One signed request; `path` is percent-encoded. Holds the calling thread.
  @discardableResult
  public func send(_ method: String, _ path: String, query: String = "", fields: Fields = Fields(), body: [UInt8] = [])
    throws -> (status: Int, fields: Fields, body: [UInt8])
  {
    let signed = Signature(accessKey: Self.accessKey, secretKey: Self.secretKey).sign(
      method: method, host: "127.0.0.1:\(port)", path: path, query: query, fields: fields, body: body)
    let target = query.isEmpty ? path : "\(path)?\(query)"
    return try exchange(port: port, method: method, target: target, fields: signed, body: body)
  }
}
