// `--seed`: content that came with the machine answers where the origin can't, and is not fetched where it can.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct SeedTests {
  private let home: TemporaryDirectory
  private let server: FakeS3
  init() throws {
    home = try TemporaryDirectory("seed")
    server = try FakeS3()
    for number in 0..<4 { server.put("d/f\(number)", content(300_000, UInt64(number))) }
    server.put("d/e/small", "small")
    server.put("large", content(20 << 20, 9))
  }

  private var seed: String { home.file("seed") }

  private func create(_ options: String...) async throws -> CommandResult {
    let fixture = try MountFixture(server.bucket, endpoint: server.endpoint)
    return try await fixture.command(
      ["seed", "create", "--endpoint-url", server.endpoint] + options + [server.bucket, seed], limit: .seconds(60))
  }

  @Test func `a budget bounds what a seed may cost, and the next run goes on`() async throws {
    let refused = try await create("--offline")
    #expect(refused.status == 2 && server.requests.isEmpty, "\(refused)")
    let short = try await create("--budget", "4req/hour")
    #expect(short.status == 1 && short.errors.contains("budget"), "\(short)")
    #expect(server.requests.count == 4)
    let rest = try await create()
    #expect(rest.succeeded && !rest.output.contains("6 fetched"), "\(rest)")
  }

  @Test func `a first start without a network shows the seed, and a network brings what is new`() async throws {
    let made = try await create()
    #expect(made.output == "6 objects, 21.1 MiB: 6 fetched, 0 there before\n", "\(made)")
    #expect(try await create().output.contains("0 fetched, 6 there before"))
    server.mode = .refuse
    // What was listed within the lifetime needs no server, whoever listed it.
    try await pass(.seconds(1))
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let mounted = try await mount.mount(["--seed", seed, "--freshness", "1s"])
    #expect(mounted.succeeded, "\(mounted)")
    #expect(try await mount.list() == ["d", "large"])
    #expect(try await mount.list("d") == ["e", "f0", "f1", "f2", "f3"])
    #expect(try await mount.attributes("large").size == 20 << 20)
    for number in 0..<4 {
      #expect(try await mount.fingerprint("d/f\(number)") == fingerprint(content(300_000, UInt64(number))))
    }
    #expect(try await mount.fingerprint("large") == fingerprint(content(20 << 20, 9)))
    #expect(try await mount.text("d/e/small") == "small")
    #expect(try await mount.status().text("state") == "offline")
    #expect(await mount.errno { _ = try await mount.read("never") } == .inputOutput)
    server.put("d/new", "new")
    server.put("d/f1", "changed")
    server.delete("d/f2")
    server.mode = .ok
    let isSeen = await eventually(within: .seconds(20)) { (try? await mount.text("d/f1")) == "changed" }
    #expect(isSeen)
    try await pass(.seconds(1))
    #expect(try await mount.list("d") == ["e", "f0", "f1", "f3", "new"])
    #expect(await mount.errno { _ = try await mount.read("d/f2") } == .noEntry)
    #expect(try await mount.text("d/new") == "new")
    server.stop()
  }

  @Test func `with a network an unchanged file costs no body, and a changed one is fetched`() async throws {
    #expect(try await create().succeeded)
    server.put("d/f1", content(200_000, 77))
    let before = server.sums
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: ["--seed", seed, "--freshness", "1s"])
    try await pass(.seconds(1))
    for name in ["d/f0", "d/f2", "d/f3"] {
      let seed = UInt64(name.suffix(1)) ?? 0
      #expect(try await mount.fingerprint(name) == fingerprint(content(300_000, seed)))
    }
    #expect(try await mount.fingerprint("large") == fingerprint(content(20 << 20, 9)))
    let objects = server.sums.bodyBytes - before.bodyBytes
    #expect(objects < 50_000, "\(objects) bytes came, listings included")
    #expect(try await mount.fingerprint("d/f1") == fingerprint(content(200_000, 77)))
    #expect(server.sums.bodyBytes - before.bodyBytes - objects >= 200_000)
    // What was taken over is a copy like others.
    let verify = try await mount.command(["cache", "verify", "--cache-dir", mount.cache])
    #expect(verify.succeeded && verify.output.contains("no damage"), "\(verify)")
    #expect(try await mount.status().count("objects") == 5)
    server.stop()
  }

  @Test func `what is damaged in a seed is fetched, and a seed that is none is refused`() async throws {
    #expect(try await create().succeeded)
    let damaged = try await python(
      """
      import os, sys
      for directory, _, names in os.walk(sys.argv[1]):
          for name in names:
              path = os.path.join(directory, name)
              if os.path.getsize(path) == 300000:
                  with open(path, "r+b") as file: file.seek(1000); file.write(b"damage")
      """, seed + "/objects")
    #expect(damaged.succeeded)
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint, options: ["--seed", seed, "--freshness", "1s"])
    try await pass(.seconds(1))
    #expect(try await mount.fingerprint("d/f0") == fingerprint(content(300_000, 0)))
    try await mount.unmount()
    let refused = try await mount.mount(["--seed", home.file("nothing")])
    #expect(refused.status == 2 && refused.errors.contains("s3mirror seed create"), "\(refused)")
    server.stop()
  }
}
