// `cache gc`: makes room and says so, beside a mount and without one.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct GarbageTests {
  @Test func `gc brings a cache under its limit, by the mount where one runs, and the next mount reads what is left`()
    async throws
  {
    let server = try FakeS3()
    for number in 0..<8 { server.put("d/f\(number)", content(200_000, UInt64(number))) }
    let stage = try await server.mounted("--freshness", "1h")
    let mount = stage.mount
    for number in 0..<8 { _ = try await mount.read("d/f\(number)") }
    let gc = ["cache", "gc", "--cache-dir", mount.cache]
    let living = try await mount.command(gc)
    #expect(living.status == 0 && living.output.contains("0 B freed"), "\(living)")
    try await mount.unmount()
    let idle = try await mount.command(gc)
    #expect(idle.status == 0 && idle.output.contains("freed"), "\(idle)")
    #expect(!idle.output.contains("copies beyond"), "\(idle)")
    let told = try await mount.command(gc + ["--json", "--cache-size", "800K"])
    #expect(try StatusText(json: told.output).count("evicted") == 4, "\(told)")
    #expect(try StatusText(json: told.output).count("freedBytes") >= 4 * 196_608, "\(told)")
    #expect(try await mount.command(["cache", "verify", "--cache-dir", mount.cache]).succeeded)
    let before = server.sums.gets
    try await mount.mount(["--freshness", "1h"])
    for number in 0..<8 { #expect(try await mount.read("d/f\(number)") == content(200_000, UInt64(number))) }
    #expect(server.sums.gets == before + 4)
    server.stop()
  }
}
