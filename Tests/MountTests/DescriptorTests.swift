// A mount that may open nothing more: it lives, it can be asked and ended, and serves again once it may.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct DescriptorTests {
  @Test func `a busy mount without a free descriptor lives, can be asked, and serves again once there are some`()
    async throws
  {
    let server = try FakeS3()
    for number in 0..<200 { server.put("d/f\(number)", "content \(number)") }
    let stage = try await server.mounted("--freshness", "100ms", limit: .seconds(100))
    let mount = stage.mount
    let daemon = try #require(mount.daemon)
    _ = try await mount.list("d")
    let taken = try open(daemon)
    try await limit(daemon, to: "0")
    // While there is work its threads are looked at each second.
    let end = ContinuousClock.now + .milliseconds(3500)
    await withTaskGroup { group in
      for lane in 0..<24 {
        group.addTask {
          var number = lane
          while ContinuousClock.now < end {
            _ = try? await mount.read("d/f\(number % 200)")
            number += 24
          }
        }
      }
    }
    try await limit(daemon, to: "\(taken)")
    let pid = try? await mount.status().number("pid")
    #expect(pid == Double(daemon))
    try await limit(daemon, to: "1024")
    let isRight = await eventually(within: .seconds(20)) { (try? await mount.text("d/f7")) == "content 7" }
    #expect(isRight)
    try await mount.unmount()
    let verified = try await mount.command(["cache", "verify", "--cache-dir", mount.cache])
    #expect(verified.succeeded, "\(verified)")
  }

  @Test(.timeLimit(.minutes(1))) func `a mount without a free descriptor is unmounted as any other`() async throws {
    let server = try FakeS3()
    server.put("f", "content")
    let stage = try await server.mounted()
    let daemon = try #require(stage.mount.daemon)
    try await limit(daemon, to: "\(try open(daemon))")
    let started = ContinuousClock.now
    let unmounted = try await stage.mount.unmount()
    #expect(unmounted.succeeded, "\(unmounted)")
    #expect(ContinuousClock.now - started < .seconds(10))
    #expect(!stage.mount.isMounted)
  }

  @Test func `a mount that may hardly open anything says so and does not begin`() async throws {
    let server = try FakeS3()
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await mount.mount(through: ["prlimit", "--nofile=31:31"])
    #expect(result.status == 1, "\(result)")
    #expect(result.errors.contains("only 31 files"), "\(result)")
    #expect(!mount.isMounted)
  }

  private func open(_ process: pid_t) throws -> Int { try FileSystem.list("/proc/\(process)/fd").count }

  private func limit(_ process: pid_t, to count: String) async throws {
    let result = try await run(["prlimit", "--pid", "\(process)", "--nofile=\(count):"])
    try #require(result.succeeded, "\(result)")
  }
}
