// `cache pin` keeps content here and current; without a mount it only marks.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct PinTests {
  private func bucket() throws -> FakeS3 {
    let server = try FakeS3()
    for number in 0..<20 { server.put("models/m\(number)", content(10_000, UInt64(number))) }
    server.put("other", "x")
    return server
  }

  @Test func `what is pinned in a mount is fetched, listed as pinned, and kept current`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--freshness", "5s")
    let mount = stage.mount
    let pin = try await mount.command(["cache", "pin", mount.path("models")])
    #expect(pin.output.hasPrefix("pinned 'models/': 20 objects fetched"), "\(pin)")
    #expect(server.sums.gets == 20)
    let pins = try await mount.command(["cache", "pins", "--cache-dir", mount.cache])
    #expect(pins.output == "models/\n", "\(pins)")
    server.put("models/m7", "new")
    server.put("models/new", "new")
    #expect(await eventually(within: .seconds(20)) { server.sums.gets == 22 })
    let objects = try await mount.command(["cache", "ls", "--json", "--cache-dir", mount.cache])
    #expect(objects.output.split(separator: "\n").count { $0.contains("\"pinned\":true") } >= 20, "\(objects)")
    let (text, _) = try await stage.cost { try await mount.text("models/new") }
    #expect(text == "new")
    #expect(server.sums.gets == 22)
    let unpin = try await mount.command(["cache", "unpin", mount.path("models")])
    #expect(unpin.output == "1 pin taken away\n", "\(unpin)")
    #expect(try await mount.command(["cache", "unpin", mount.path("models")]).status == 1)
    server.stop()
  }

  @Test func `without a mount a pin is only written down, and the next mount fetches`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--freshness", "1h")
    let mount = stage.mount
    _ = try await mount.text("other")
    try await mount.unmount()
    let before = server.sums.total
    let pin = try await mount.command(["cache", "pin", "--cache-dir", mount.cache, "models/"])
    #expect(pin.output == "pinned 'models/'; it is fetched when it is mounted\n", "\(pin)")
    let foreign = try await mount.command(["cache", "pin", "--cache-dir", mount.cache, "s3://elsewhere/x"])
    #expect(foreign.status == 1)
    #expect(server.sums.total == before)
    try await mount.mount(["--freshness", "1h"])
    #expect(
      await eventually(within: .seconds(20)) {
        server.requests(.get).count { $0.key?.description.hasPrefix("models/") == true } == 20
      })
    let taken = try await mount.command(["cache", "unpin", "--cache-dir", mount.cache, "models/"])
    #expect(taken.output == "1 pin taken away\n", "\(taken)")
    server.stop()
  }

  @Test func `what does not fit or does not exist is refused`() async throws {
    let server = try bucket()
    let stage = try await server.mounted("--cache-size", "100KiB")
    let large = try await stage.mount.command(["cache", "pin", stage.mount.path("models")])
    #expect(large.status == 1 && large.errors.contains("--cache-size"), "\(large)")
    let missing = try await stage.mount.command(["cache", "pin", stage.mount.path("nothing")])
    #expect(missing.status == 1 && missing.errors.contains("nothing"), "\(missing)")
    #expect(try await stage.mount.command(["cache", "pins", "--cache-dir", stage.mount.cache]).output == "")
    server.stop()
  }
}
