import MirrorDaemon
import MirrorPlatform
import TestSupport
import Testing

/// The built program's mistakes: exit code, and one line that says what to do.
@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.program != nil))
struct CommandLineTests {
  private func s3mirror(_ arguments: [String]) async throws -> CommandResult {
    let fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9")
    return try await fixture.command(arguments, limit: .seconds(50))
  }

  private func expect(_ result: CommandResult, _ code: ExitCode, _ hint: String) {
    #expect(result.status == code.rawValue, "\(result)")
    #expect(result.errors.contains(hint), "\(result)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
  }

  @Test(arguments: [
    (["mout"], "did you mean 'mount'?"), (["frobnicate"], "s3mirror help"),
    (["warm"], "PATH is missing"), (["prefetch", "--dry-rn"], "did you mean '--dry-run'?"),
    (["unmount"], "MOUNTPOINT is missing"), (["unmount", "--lzy", "/x"], "did you mean '--lazy'?"),
    (["status", "a", "b"], "too many"), (["refresh"], "PATH is missing"), (["explain"], "PATH is missing"),
    (["cost", "--by", "week"], "it is day or prefix"), (["cost", "--price", "put=1"], "there is no price 'put'"),
    (["cost", "/x", "--cache-dir", "/y"], "exclude each other"),
    (["cache"], "ls, stat, du, verify, evict, gc, export, pin"), (["cache", "gc", "a/"], "no prefix"),
    (["cache", "gc", "--cache-size", "much"], "500M"), (["cache", "pin"], "cache pin PATH"),
    (["cache", "lss"], "did you mean 'ls'?"),
    (["help", "mout"], "did you mean"),
    (["mount", "Bucket", "/x"], "upper-case"), (["mount", "b"], "MOUNTPOINT is missing"),
  ])
  func `wrong usage is exit code 2 and a hint`(arguments: [String], hint: String) async throws {
    expect(try await s3mirror(arguments), .usage, hint)
  }

  @Test func `no command at all is wrong usage, and the overview`() async throws {
    let result = try await s3mirror([])
    #expect(result.status == 2)
    #expect(result.errors.contains("usage: s3mirror COMMAND"))
  }

  @Test func `help tells every option and every command`() async throws {
    let overview = try await s3mirror(["--help"])
    for command in ["mount", "unmount", "status", "refresh", "warm", "explain", "cost", "cache", "version"] {
      #expect(overview.output.contains("\n  \(command) "))
      let help = try await s3mirror([command, "--help"])
      #expect(help.succeeded && help.output.hasPrefix("usage: s3mirror \(command)"), "\(help)")
    }
    let mount = try await s3mirror(["help", "mount"])
    for option in MountOption.all { #expect(mount.output.contains("--\(option.name)")) }
    #expect(mount.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(mount.output)")
  }

  @Test func `the version is told`() async throws {
    let result = try await s3mirror(["--version"])
    #expect(result.output == "s3mirror \(programVersion)\n")
  }

  @Test(arguments: [["unmount"], ["status"], ["refresh"], ["warm"], ["explain"]])
  func `what is not mounted is exit code 8`(command: [String]) async throws {
    expect(try await s3mirror(command + ["/tmp"]), .notMounted, "s3mirror status")
  }

  @Test func `without mounts status has an answer for people and for scripts`() async throws {
    let json = try await s3mirror(["status", "--json"])
    #expect(json.status == 0)
    #expect(json.output.hasPrefix("{\"version\":\"\(programVersion)\",\"mounts\":["))
  }

  @Test func `a mount point that can't be used is exit code 3`() async throws {
    let fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9")
    let home = try #require(FileSystem.parent(of: fixture.point))
    let mount = ["mount", "--endpoint-url", fixture.endpoint, "--cache-dir", fixture.cache, "bucket"]
    expect(try await fixture.command(mount + [home + "/missing"]), .mountPointUnusable, "mkdir -p")
    expect(try await fixture.command(mount + [#filePath]), .mountPointUnusable, "is not a directory")
    let inside = ["mount", "--cache-dir", fixture.point + "/cache", "bucket", fixture.point]
    expect(try await fixture.command(inside), .mountPointUnusable, "--cache-dir")
    let around = ["mount", "--cache-dir", home, "bucket", fixture.point]
    expect(try await fixture.command(around), .mountPointUnusable, "lies in the cache directory")
  }

  @Test func `a cache directory that can't be used is exit code 7`() async throws {
    let fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9")
    let result = try await fixture.command(["mount", "--cache-dir", "/proc/cache", "bucket", fixture.point])
    expect(result, .cacheUnusable, "--cache-dir")
  }

  @Test(arguments: [false, true])
  func `a server that can't be reached is exit code 6, and nothing is left`(foreground: Bool) async throws {
    let fixture = try MountFixture("bucket", endpoint: "http://127.0.0.1:9")
    expect(
      try await fixture.mount(foreground ? ["--foreground", "--log-level", "error"] : []), .unreachable,
      "--endpoint-url")
    #expect(!fixture.isMounted)
    #expect(fixture.daemon == nil)
  }

  @Test func `without credentials it is exit code 5, with the sources that were asked`() async throws {
    let fixture = try MountFixture(
      "bucket", endpoint: "http://127.0.0.1:9", environment: ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""])
    expect(try await fixture.mount(), .denied, "environment")
  }
}
