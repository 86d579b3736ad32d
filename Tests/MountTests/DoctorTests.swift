// The doctor finds what is in the way, names the cure, and exits as a mount would.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.program != nil))
struct DoctorTests {
  private func examine(
    _ server: FakeS3, _ options: [String] = [], endpoint: String? = nil, environment: [String: String] = [:]
  ) async throws -> CommandResult {
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint, environment: environment)
    return try await fixture.command(
      ["doctor", "--endpoint-url", endpoint ?? server.endpoint, "--cache-dir", fixture.cache] + options + [
        server.bucket
      ])
  }

  private func bucket() throws -> FakeS3 {
    let server = try FakeS3()
    server.put("dir/f", "content")
    return server
  }

  @Test func `a way that is free is told step by step`() async throws {
    let server = try bucket()
    let result = try await examine(server)
    let steps = result.output.split(separator: "\n").filter { $0.hasPrefix("ok ") }.map { line in
      String(line.dropFirst(6).prefix { $0 != ":" })
    }
    let bucketSteps = ["settings", "credentials", "connection", "clock", "bucket", "list", "read", "validation"]
    #expect(Array(steps.prefix(8)) == bucketSteps, "\(result)")
    #expect(steps.contains("cache") && (steps.contains("FUSE") || !MountFixture.isAvailable))
    if MountFixture.isAvailable { #expect(result.succeeded) }
    #expect(server.requests.count <= 6)
    #expect(!result.output.contains(RealServer.secretKey))
  }

  @Test(arguments: [
    (S3RequestKind.bucketHead, Fault.status(404, code: "NoSuchBucket"), 4, "bucket", "check its name"),
    (.list, .status(403, code: "AccessDenied"), 5, "list", "s3:ListBucket"),
    (.get, .status(403, code: "AccessDenied"), 5, "read", "s3:GetObject"),
    (.list, .status(403, code: "InvalidAccessKeyId"), 5, "list", "--profile"),
    (.list, .html, 6, "list", "server"),
  ])
  func `what fails is named with its cure`(
    kind: S3RequestKind, fault: Fault, code: Int32, step: String, cure: String
  ) async throws {
    let server = try bucket()
    server.inject(fault, on: kind)
    let result = try await examine(server)
    let line = result.output.split(separator: "\n").first { $0.hasPrefix("FAIL") } ?? ""
    #expect(line.hasPrefix("FAIL  \(step): ") && line.contains(cure), "\(result)")
    #expect(result.status == code)
  }

  @Test func `a clock, a server that ignores conditions, and a dead end are told`() async throws {
    let server = try bucket()
    server.configure { $0.clockAhead = 1200 }
    server.inject(.ignoreIfNoneMatch)
    let odd = try await examine(server)
    #expect(odd.output.contains("note  clock: ") && odd.output.contains("note  validation: "), "\(odd)")
    server.mode = .refuse
    let refused = try await examine(server)
    #expect(refused.status == 6 && refused.output.contains("FAIL  connection: "), "\(refused)")
  }

  @Test func `without a source no bucket is asked`() async throws {
    let server = try bucket()
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await fixture.command(["doctor", "--cache-dir", fixture.cache, "--endpoint-url", server.endpoint])
    #expect(result.output.contains("ok    credentials: ") && result.output.contains("environment"), "\(result)")
    #expect(server.requests.isEmpty)
    let nobody = try await fixture.command(["doctor", "--cache-dir", fixture.cache, "--profile", "nope"])
    #expect(nobody.status == 5 && nobody.output.contains("FAIL  credentials: no profile nope"), "\(nobody)")
  }
}
