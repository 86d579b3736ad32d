// How each real server is started on loopback: its processes, in a directory of its own.
import Glibc
import MirrorPlatform

/// The start of one server; `run` before anything else.
struct ServerStart {
  let kind: ServerKind
  let program: String
  let directory: TemporaryDirectory
  let port: UInt16
  /// Ports for its inner parts, free as those 10,000 above them.
  let innerPorts: [UInt16]
  private(set) var processes: [ServerProcess] = []
  /// What it leaves outside of its directory, whatever it is told.
  private(set) var leavings: [String] = []

  init(_ kind: ServerKind) throws {
    guard let program = kind.program else { throw SystemFailure(message: "\(kind): not found") }
    self.kind = kind
    self.program = program
    directory = try TemporaryDirectory(kind.rawValue)
    let ports = try Self.freePorts(4)
    port = ports[0]
    innerPorts = Array(ports.dropFirst())
  }

  mutating func run() throws {
    switch kind {
    case .weed: try startWeed()
    case .ceph: try startCeph()
    case .rclone:
      try FileSystem.makeDirectory(directory.file("data"))
      try launch([
        program, "serve", "s3", "--config=/dev/null", "--addr=127.0.0.1:\(port)",
        "--auth-key=\(RealServer.accessKey),\(RealServer.secretKey)", directory.file("data"),
      ])
    case .moto: try launch([program, "-H", "127.0.0.1", "-p", "\(port)"])
    case .juicefs: try startJuiceFS()
    }
  }

  /// A process that lasts as long as the server.
  mutating func launch(_ arguments: [String], _ environment: [String: String] = [:]) throws {
    var environment = environment
    environment["TMPDIR"] = directory.path
    environment["HOME"] = directory.path
    let process = try ServerProcess(arguments, environment: environment, log: log)
    AtExit.kill(process.identifier)
    processes.append(process)
  }

  /// A step that must succeed before the next.
  func step(_ arguments: [String], _ environment: [String: String] = [:]) throws {
    let result = try runBlocking(
      arguments, environment: environment.merging(["HOME": directory.path]) { $1 }, limit: .seconds(90))
    guard result.succeeded else { throw SystemFailure(message: "\(kind): \(arguments): \(result)") }
  }

  var log: String { directory.file("log") }

  private mutating func startWeed() throws {
    try FileSystem.makeDirectory(directory.file("data"))
    let identity = """
      {"identities":[{"name":"test","credentials":[{"accessKey":"\(RealServer.accessKey)",\
      "secretKey":"\(RealServer.secretKey)"}],"actions":["Admin","Read","Write","List","Tagging"]}]}
      """
    try FileSystem.write(Array(identity.utf8), to: directory.file("s3.json"), mode: 0o600)
    try launch([
      program, "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-dir=\(directory.file("data"))",
      "-master.port=\(innerPorts[0])", "-master.volumeSizeLimitMB=64", "-volume.port=\(innerPorts[1])",
      "-volume.max=0", "-filer.port=\(innerPorts[2])", "-s3", "-s3.port=\(port)", "-s3.port.iceberg=0",
      "-s3.port.lance=0", "-s3.config=\(directory.file("s3.json"))",
    ])
    leavings = ([port] + innerPorts).flatMap { port in
      ["filer-\(port)", "s3-\(port)"] + ["master", "volume", "filer", "s3"].map { "\($0)-grpc-\(port + 10000)" }
    }.map { "/tmp/seaweedfs-\($0).sock" }
    leavings.forEach { AtExit.remove($0) }
  }

  private mutating func startJuiceFS() throws {
    let catalogue = "sqlite3://\(directory.file("meta.db"))"
    try step([program, "format", "--storage=file", "--bucket=\(directory.file("data"))/", catalogue, "test"])
    try launch(
      [
        program, "gateway", "--multi-buckets", "--keep-etag", "--object-meta", "--no-usage-report",
        "--log=\(directory.file("gateway.log"))", "--cache-dir=\(directory.file("cache"))", catalogue,
        "127.0.0.1:\(port)",
      ], ["MINIO_ROOT_USER": RealServer.accessKey, "MINIO_ROOT_PASSWORD": RealServer.secretKey])
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
