// A mount that can't be made says why in one line and one number, within seconds, and leaves nothing behind.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct StartTests {
  @Test func `without standard streams nothing takes their place`() async throws {
    let server = try FakeS3()
    server.put("f", "x")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let closed = ["sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"]
    #expect(try await mount.mount(through: closed).succeeded)
    #expect(try await mount.text("f") == "x")
    let daemon = try #require(mount.daemon)
    for stream in 0...1 {
      #expect(try await run(["readlink", "/proc/\(daemon)/fd/\(stream)"]).output == "/dev/null\n")
    }
    let errors = try await run(["readlink", "/proc/\(daemon)/fd/2"]).output
    #expect(errors == "/dev/null\n" || errors.hasSuffix(".log\n"), "\(errors)")
    #expect(try await mount.unmount().succeeded)
  }

  enum Cause: CaseIterable, Sendable {
    case noSuchBucket, badKey, badSecret, expiredToken, denied, wrongRegion, hostNotFound, refused, tls, portal, silent
    case noCredentials, blockedMetadata

    /// The exit code, and a word the line must hold so that it can't be taken for another cause.
    var told: (Int32, String) {
      switch self {
      case .noSuchBucket: (4, "NoSuchBucket")
      case .badKey: (5, "InvalidAccessKeyId")
      case .badSecret: (5, "SignatureDoesNotMatch")
      case .expiredToken: (5, "ExpiredToken")
      case .denied: (5, "AccessDenied")
      case .wrongRegion: (6, "region")
      case .hostNotFound: (6, "resolve")
      case .refused: (6, "connect")
      case .tls: (6, "SSL")
      case .portal: (6, "server")
      case .silent: (6, "network")
      case .noCredentials, .blockedMetadata: (5, "no credentials")
      }
    }
    var fault: Fault? {
      switch self {
      case .badKey: .status(403, code: "InvalidAccessKeyId")
      case .badSecret: .status(403, code: "SignatureDoesNotMatch")
      case .expiredToken: .status(400, code: "ExpiredToken")
      case .denied: .status(403, code: "AccessDenied")
      case .wrongRegion: .status(301, code: "PermanentRedirect")
      case .portal: .html
      default: nil
      }
    }
  }

  // A080
  @Test(arguments: Cause.allCases.map { ($0, false) } + [(.badKey, true), (.refused, true)])
  func `each cause has its exit code and its line`(cause: Cause, foreground: Bool) async throws {
    if cause == .tls, !Machine.hasRealServer { return }
    let server = try FakeS3()
    server.put("f", "x")
    if cause == .noSuchBucket { server.configure { $0.exists = false } }
    if cause == .refused { server.mode = .refuse }
    if cause == .silent { server.mode = .blackhole }
    if let fault = cause.fault { server.inject(fault) }
    let endpoint =
      switch cause {
      case .hostNotFound: "http://no-such-host.invalid:9"
      // It answers TLS with 400, in plain text.
      case .tls: "https://127.0.0.1:\(try await RealServer.shared().port)"
      default: server.endpoint
      }
    let none = ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""]
    let services = try FakeIdentity()
    services.setMode(.blackhole)
    let metadata = ["AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": services.endpoint]
    let environment =
      switch cause {
      case .noCredentials: none
      case .blockedMetadata: none.merging(metadata) { $1 }
      default: [String: String]()
      }
    let mount = try MountFixture(server.bucket, endpoint: endpoint, environment: environment)
    let started = ContinuousClock.now
    let result = try await mount.mount(foreground ? ["--foreground", "--log-level", "error"] : [])
    #expect(ContinuousClock.now - started < .seconds(15))
    #expect(result.status == cause.told.0, "\(result)")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == 1, "\(result)")
    #expect(result.errors.contains(cause.told.1), "\(result)")
    #expect(!result.errors.contains(RealServer.secretKey))
    #expect(result.output.isEmpty)
    #expect(!mount.isMounted)
    #expect(mount.daemon == nil)
  }

  // A082
  @Test(arguments: [
    "s3://bucket", "bucket/", "bucket", "arn:aws:s3:::bucket", "bucket/d", "s3://bucket/d/", "S3://bucket",
  ])
  func `a bucket may be written in several ways, and is no part of the host's name`(source: String) async throws {
    let server = try FakeS3()
    server.put("d/f", "x")
    let mount = try await MountFixture.mounted(source, endpoint: server.endpoint, limit: .seconds(60))
    #expect(try await mount.text(source.contains("/d") ? "f" : "d/f") == "x")
    #expect(server.requests.allSatisfy { $0.fields["host"]?.hasPrefix("127.0.0.1:") == true })
    #expect(try await mount.status().text("source") == source)
  }

  enum Place: CaseIterable, Sendable {
    case missing, file, full, inCache, aroundCache, link, relative, trailingSlash, linkToNowhere, notOurs, spaces
  }

  // A081
  @Test(arguments: Place.allCases)
  func `each place for a mount works or is refused with its own line`(place: Place) async throws {
    let server = try FakeS3()
    server.put("f", "x")
    let directory = try TemporaryDirectory("place")
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let point = directory.file("m")
    try FileSystem.makeDirectory(point)
    var (asked, real, cache) = (point, point, directory.file("c"))
    var prefix: [String] = []
    var refusal: String?
    switch place {
    case .missing: (asked, refusal) = (directory.file("none"), "mkdir")
    case .file:
      try FileSystem.write([], to: directory.file("file"), mode: 0o600)
      (asked, refusal) = (directory.file("file"), "not a directory")
    case .full: try FileSystem.write([], to: point + "/below", mode: 0o600)
    case .inCache:
      try FileSystem.makeDirectories(cache + "/m")
      (asked, refusal) = (cache + "/m", "cache directory")
    case .aroundCache: (cache, refusal) = (point + "/c", "--cache-dir")
    case .link:
      _ = try await run(["ln", "-s", point, directory.file("link")])
      asked = directory.file("link")
    case .linkToNowhere:
      _ = try await run(["ln", "-s", directory.file("none"), directory.file("link")])
      (asked, refusal) = (directory.file("link"), "does not exist")
    case .relative: asked = "m"
    case .trailingSlash: asked = point + "//"
    case .notOurs:
      guard Machine.isRoot else { return }
      _ = try await run(["chmod", "-R", "a+rX", directory.path])
      cache = directory.file("other")
      _ = try await run(["install", "-d", "-o", "65534", "-m", "700", cache])
      prefix = Machine.asNobody
      // Or already for want of /dev/fuse.
      refusal = "as root"
      if try await !Machine.nobodyCanRun() { return }
    case .spaces:
      real = directory.file("a b\\,c")
      try FileSystem.makeDirectory(real)
      asked = real
    }
    let program = try #require(MountFixture.program)
    var environment = fixture.environment
    if place == .notOurs {
      for name in ["HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] { environment[name] = cache }
    }
    let started = ContinuousClock.now
    let result = try await run(
      ["sh", "-c", "cd \"$0\" && exec \"$@\"", directory.path] + prefix + [
        program, "mount", "--endpoint-url", server.endpoint, "--cache-dir", cache, server.bucket, asked,
      ], environment: environment, limit: .seconds(15))
    #expect(ContinuousClock.now - started < .seconds(8))
    let table = String(decoding: try FileSystem.read("/proc/self/mounts"), as: UTF8.self)
    if let refusal {
      #expect(result.status == 3, "\(result)")
      #expect(result.errors.split(separator: "\n").count == 1)
      #expect(result.errors.contains(refusal), "\(result)")
      #expect(!table.contains(directory.path))
    } else {
      #expect(result.succeeded, "\(result)")
      #expect(try FileSystem.list(real) == ["f"])
      let unmounted = try await run([program, "unmount", real], environment: environment)
      #expect(unmounted.succeeded, "\(unmounted)")
      if place == .full { #expect(try FileSystem.list(real) == ["below"]) }
    }
    _ = try? await run(["sh", "-c", "grep -q \"$0\" /proc/mounts && umount -l \"$1\"", directory.path, real])
  }
}
