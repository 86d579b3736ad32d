// What objects say of their own freshness, on a real mount.
import MirrorPlatform
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct OriginRuleTests {
  private func fields(_ control: String) -> Fields { Fields([("Cache-Control", control)]) }

  @Test func `each file is asked for as often as its Cache-Control says`() async throws {
    let server = try FakeS3()
    for (key, control) in [("page", "no-cache"), ("logo", "max-age=31536000, immutable"), ("news", "max-age=3")] {
      server.put(key, content(1000, 1), fields: fields(control))
    }
    let stage = try await server.mounted("--freshness", "origin")
    for name in ["page", "logo", "news"] { #expect(try await stage.mount.read(name) == content(1000, 1)) }
    try await pass(.seconds(4))
    let (_, page) = try await stage.cost {
      for _ in 0..<3 { _ = try await stage.mount.read("page"); try await pass(.zero) }
    }
    #expect(page.gets == 3 && page.notModified == 3 && page.total == 3)
    let (_, logo) = try await stage.cost { for _ in 0..<100 { _ = try await stage.mount.read("logo") } }
    #expect(logo.total == 0)
    let (_, news) = try await stage.cost { _ = try await stage.mount.read("news") }
    #expect(news.notModified == 1 && news.total == 1)
    let explained = try await stage.mount.command(["explain", "--json", stage.mount.path("logo")])
    #expect(explained.output.contains(#""rule":"origin","said":"max-age=31536000, immutable""#), "\(explained)")
  }

  @Test func `no-store leaves no copy behind once the file is closed`() async throws {
    let server = try FakeS3()
    server.put("secret", content(100_000, 1), fields: fields("no-store"))
    server.put("plain", content(100_000, 2))
    let stage = try await server.mounted("--freshness", "origin")
    #expect(try await stage.mount.read("plain") == content(100_000, 2))
    #expect(try await stage.mount.read("secret") == content(100_000, 1))
    let isGone = try await eventually { try await stage.mount.status().count("objects") == 1 }
    #expect(isGone, "one copy is left, and it is not the secret")
    #expect(try await stage.mount.read("secret") == content(100_000, 1))
  }
}
