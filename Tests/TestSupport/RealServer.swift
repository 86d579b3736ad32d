// A real S3 server on loopback, one of each kind for the whole test process.
import Glibc
import MirrorPlatform
import MirrorStore
import Synchronization

/// Started on first use; it ends with the tests. Path style, any region.
public final class RealServer: Sendable {
  public static let accessKey = "testaccess"
  public static let secretKey = "testsecret"

  public let kind: ServerKind
  public let port: UInt16
  private let processes: [ServerProcess]
  private let directory: TemporaryDirectory
  private let leavings: [String]

  /// SeaweedFS can be had, which most tests run on.
  public static var isAvailable: Bool { ServerKind.weed.program != nil }

  private final class Starts: Sendable {
    private let started = Mutex<[ServerKind: Result<RealServer, any Error>]>([:])
    /// Whoever comes while one is starting waits for it.
    func server(_ kind: ServerKind) throws -> RealServer {
      try started.withLock { started in
        let result = started[kind] ?? Result { try RealServer(kind) }
        started[kind] = result
        return try result.get()
      }
    }
  }
  private static let starts = Starts()

  /// The server of this process.
  public static func shared(_ kind: ServerKind = .weed) async throws -> RealServer {
    try await blocking { try starts.server(kind) }
  }

  /// A server of one's own, which ends with its last reference or `stop`.
  public static func start(_ kind: ServerKind = .weed) async throws -> RealServer {
    try await blocking { try RealServer(kind) }
  }

  private init(_ kind: ServerKind) throws {
    var start = try ServerStart(kind)
    // Whatever was started by then ends with the process.
    try start.run()
    self.kind = kind
    port = start.port
    processes = start.processes
    directory = start.directory
    leavings = start.leavings
    try waitUntilReady(start.log)
  }
  deinit { stop() }

  public func stop() {
    for process in processes.reversed() {
      process.stop()
      AtExit.forget(process: process.identifier)
    }
    for path in leavings {
      try? FileSystem.removeFile(path)
      AtExit.forget(path)
    }
    directory.remove()
  }

  public var endpoint: String { "http://127.0.0.1:\(port)" }

  private func waitUntilReady(_ log: String) throws {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end, processes.allSatisfy(\.isRunning) {
      if let status = try? send("PUT", "/ready").status, status == 200 { return }
      pause(.milliseconds(100))
    }
    let words = (try? FileSystem.read(log)) ?? []
    throw SystemFailure(message: "\(kind) did not start: \(String(decoding: words.suffix(2000), as: UTF8.self))")
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
  /// What is replaced or deleted from now on can be had by its version.
  public func keepVersions(_ bucket: String) async throws {
    let body = Array("<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>".utf8)
    try await expect("PUT", "/\(bucket)", query: "versioning=", body: body)
  }
  public func delete(_ bucket: String, _ key: String) async throws {
    try await expect("DELETE", Self.path(bucket, ObjectKey(key)))
  }

  public func delete(_ bucket: String, _ key: ObjectKey) async throws {
    try await expect("DELETE", Self.path(bucket, key))
  }
  /// The status of a PUT that may be refused.
  public func tryPut(_ bucket: String, _ key: ObjectKey, _ bytes: [UInt8]) async throws -> Int {
    try await blocking { [self] in try send("PUT", Self.path(bucket, key), body: bytes).status }
  }
  /// A GET or HEAD past all mounts.
  public func ask(_ method: String = "GET", _ bucket: String, _ key: ObjectKey, fields: Fields = Fields())
    async throws -> (status: Int, fields: Fields, body: [UInt8])
  {
    try await blocking { [self] in try send(method, Self.path(bucket, key), fields: fields) }
  }
  /// The keys below a prefix, as the server's own listing has them; one page.
  public func listedKeys(_ bucket: String, prefix: String) async throws -> (keys: [ObjectKey], text: String) {
    let query = "encoding-type=url&list-type=2&prefix=\(percentEncoded(prefix.utf8, keepingSlash: false))"
    let answer = try await blocking { [self] in try send("GET", "/\(bucket)", query: query) }
    let text = String(decoding: answer.body, as: UTF8.self)
    let isEncoded = text.contains("<EncodingType>url</EncodingType>")
    let keys = text.split(separator: "<Key>").dropFirst().map { part in
      var spelled = String(part[..<(part.firstRange(of: "</Key>")?.lowerBound ?? part.endIndex)])
      for (entity, mark) in [
        ("&apos;", "'"), ("&#39;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
      ] {
        spelled = spelled.split(separator: entity, omittingEmptySubsequences: false).joined(separator: mark)
      }
      return ObjectKey(isEncoded ? percentDecoded(spelled.utf8, form: true) : Array(spelled.utf8))
    }
    return (keys, text)
  }

  private static func path(_ bucket: String, _ key: ObjectKey) -> String {
    "/\(bucket)/\(percentEncoded(key.bytes, keepingSlash: true))"
  }

  private func expect(
    _ method: String, _ path: String, query: String = "", fields: Fields = Fields(), body: [UInt8] = []
  ) async throws {
    let answer = try await blocking { [self] in try send(method, path, query: query, fields: fields, body: body) }
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
