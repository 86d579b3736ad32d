// `warm` fetches ahead: its price first, what is not here only, and an exit code that says whether all could be had.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct WarmTests {
  private func stage() async throws -> (FakeS3, Stage) {
    let server = try FakeS3()
    for number in 100..<130 { server.put("d/n\(number)", content(20_000, UInt64(number))) }
    server.put("d/sub/large", content(20 << 20, 1))
    server.put(ObjectKey(Array("odd\n".utf8) + [0xFF]), FakeObject(.bytes(Array("odd".utf8)), modified: nil))
    return (server, try await server.mounted("--freshness", "1h"))
  }

  @Test func `a tree is priced, fetched and then read without a request`() async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    let dry = try await mount.command(["warm", "--dry-run", mount.path("d")])
    #expect(dry.succeeded)
    #expect(dry.output.hasPrefix("31 objects, 20.6 MiB: 0 cached whole, 31 to fetch"), "\(dry)")
    #expect(dry.output.contains("33 GET, 0.000013 USD"), "\(dry)")
    #expect(server.sums.gets == 0)
    let (warm, cost) = try await stage.cost { try await mount.command(["prefetch", mount.path("d")]) }
    #expect(warm.succeeded)
    #expect(warm.output.hasPrefix("31 objects fetched"), "\(warm)")
    #expect(warm.errors.split(separator: "\n").last?.hasPrefix("100 %") == true, "\(warm)")
    #expect(cost.gets == 33)
    let (_, reading) = try await stage.cost { () async throws -> Void in
      #expect(try await mount.fingerprint("d/n115") == fingerprint(content(20_000, 115)))
      #expect(try await mount.fingerprint("d/sub/large") == fingerprint(content(20 << 20, 1)))
    }
    #expect(reading.total == 0)
    let (again, nothing) = try await stage.cost { try await mount.command(["warm", mount.path("d")]) }
    #expect(again.output.hasPrefix("0 objects fetched"), "\(again)")
    #expect(nothing.total == 0)
    server.stop()
  }

  @Test func `patterns and lists name what is fetched, whatever bytes are in the names`() async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    let pattern = try await mount.command(["warm", mount.path("d/n10[0-4]"), mount.path("**/lar?e")])
    #expect(pattern.output.hasPrefix("6 objects fetched"), "\(pattern)")
    let list = try await mount.shell(
      "printf 'd/n110\\0d/n111\\0odd\\n\\377\\0' | \(MountFixture.program ?? "") warm -")
    #expect(list.output.hasPrefix("3 objects fetched"), "\(list)")
    let lines = try await mount.shell(
      "printf 'd/n120\\nd/n121\\n' > ../list; \(MountFixture.program ?? "") warm --from ../list --dry-run")
    #expect(lines.output.hasPrefix("2 objects"), "\(lines)")
    server.stop()
  }

  @Test func `what could not be had is named, and the rest is fetched`() async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    let result = try await mount.command(
      ["warm", mount.path("d/n100"), mount.path("missing"), mount.path("z*"), "/tmp"])
    #expect(result.status == 1 || result.status == 8)
    #expect(result.output.hasPrefix("1 object fetched"), "\(result)")
    for name in ["/missing'", "/z*'", "'/tmp'"] { #expect(result.errors.contains(name), "\(result)") }
    server.stop()
  }

  @Test func `more than the cache may hold is refused before anything is fetched`() async throws {
    let (server, _) = try await stage()
    let small = try await server.mounted("--cache-size", "1MiB")
    let (result, cost) = try await small.cost { try await small.mount.command(["warm", small.mount.path("d")]) }
    #expect(result.status == 1)
    #expect(result.errors.contains("--cache-size"))
    #expect(cost.gets == 0)
    server.stop()
  }

  @Test func `Control-C stops it`() async throws {
    let (server, stage) = try await stage()
    server.inject(.hang, on: .get)
    let result = try await stage.mount.shell(
      "timeout -s INT 1 \(MountFixture.program ?? "") warm d; echo $?")
    #expect(result.output.hasSuffix("124\n"), "\(result)")
    // The daemon tells of a step ten times a second, and so learns that nobody listens.
    try await Task.sleep(for: .seconds(1))
    let count = server.sums.gets
    server.clearFaults()
    try await Task.sleep(for: .seconds(1))
    #expect(server.sums.gets <= count + 1)
    server.stop()
  }
}
