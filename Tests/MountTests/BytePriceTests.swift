// Where bytes cost more than requests, none come that nobody reads.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct BytePriceTests {
  @Test(arguments: [true, false])
  func `a look at a new file is a HEAD where bytes are dear, and the read after it one GET`(dear: Bool) async throws {
    let server = try FakeS3()
    server.put("d/a.txt", "neighbour")
    let stage = try await server.mounted("--freshness", "2s", "--price", dear ? "egress=0.09/GB" : "egress=0")
    let mount = stage.mount
    _ = try await mount.read("d/a.txt")
    server.put("d/new.txt", content(100_000, 1))
    try await pass(.seconds(2))
    let explained = try await mount.command(["explain", mount.path("d/new.txt")])
    #expect(explained.output.contains(dear ? "HEAD; its bytes" : "GET of its first 128.0 KiB"), "\(explained)")
    let (attributes, look) = try await stage.cost { try await mount.attributes("d/new.txt") }
    #expect(attributes.size == 100_000)
    #expect((look.heads, look.gets, look.lists) == (dear ? 1 : 0, dear ? 0 : 1, 0))
    #expect(look.bodyBytes == (dear ? 0 : 100_000))
    let (print, read) = try await stage.cost { try await mount.fingerprint("d/new.txt") }
    #expect(print == fingerprint(content(100_000, 1)))
    #expect((read.total, read.gets, read.bodyBytes) == (dear ? (1, 1, 100_000) : (0, 0, 0)))
    if dear {
      let get = try #require(server.requests(.get, key: "d/new.txt").last)
      #expect(get.fields["if-match"] != nil && get.fields["if-none-match"] == nil)
    }
    // Unchanged it costs no byte, changed the few that are cheaper than a request.
    try await pass(.seconds(2))
    let (_, same) = try await stage.cost { try await mount.fingerprint("d/new.txt") }
    #expect((same.total, same.notModified, same.bodyBytes) == (1, 1, 0))
    server.put("d/new.txt", content(100_001, 2))
    try await pass(.seconds(2))
    let (changed, seen) = try await stage.cost { try await mount.attributes("d/new.txt") }
    #expect(changed.size == 100_001)
    #expect(seen.total == 1 && seen.bodyBytes == (dear ? 1 : 100_001))
    let (after, rest) = try await stage.cost { try await mount.fingerprint("d/new.txt") }
    #expect(after == fingerprint(content(100_001, 2)))
    #expect((rest.total, rest.bodyBytes) == (dear ? (1, 100_001) : (0, 0)))
    server.stop()
  }
}
