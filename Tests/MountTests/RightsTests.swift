// Credentials that may do only some things: what they may works, what they may not is EACCES, and no copy is lost.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct RightsTests {
  // A061
  @Test func `without the right to list, known names are read, and listings and unknown names are refused`()
    async throws
  {
    let server = try FakeS3()
    for name in ["d/f", "d/g", "e/h"] { server.put(name, name) }
    server.configure { $0.pageSize = 2 }
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "0s")
    let mount = stage.mount
    #expect(try await mount.text("d/f") == "d/f")
    #expect(try await mount.text("e/h") == "e/h")
    server.inject(.status(403, code: "AccessDenied"), on: .list)
    server.inject([.status(403, code: "AccessDenied")], on: .get) { $0.key == ObjectKey("d/none.txt") }
    try await pass(.seconds(1))
    #expect(try await mount.text("d/f") == "d/f")
    for _ in 0..<2 {
      #expect(await mount.errno { _ = try await mount.list("d") } == .accessDenied)
      #expect(await mount.errno { _ = try await mount.attributes("d/none.txt") } == .accessDenied)
    }
    // And when the object itself is refused: the copy stays, for the day on which it is not.
    server.inject(.status(403, code: "AccessDenied"), on: .get, key: "d/f")
    try await pass(.seconds(1))
    #expect(await mount.errno { _ = try await mount.read("d/f") } == .accessDenied)
    server.clearFaults()
    try await pass(.zero)
    let (text, cost) = try await stage.cost { try await mount.text("d/f") }
    #expect(text == "d/f")
    #expect(cost.bodyBytes == 0 || cost.lists > 0)
  }

  // A062
  @Test func `rights for one prefix: the mount of all is refused with a word on prefixes, that of the prefix works`()
    async throws
  {
    let server = try FakeS3()
    for name in ["team/f", "team/d/g", "other/x"] { server.put(name, name) }
    server.inject([.status(403, code: "AccessDenied")], on: .list) { request in
      request.query["prefix"]?.hasPrefix("team/") != true
    }
    let whole = try MountFixture(server.bucket, endpoint: server.endpoint)
    let refused = try await whole.mount()
    #expect(refused.status == 5, "\(refused)")
    #expect(refused.errors.contains("AccessDenied") && refused.errors.contains("/PREFIX"), "\(refused)")
    let mount = try await MountFixture.mounted("\(server.bucket)/team", endpoint: server.endpoint)
    #expect(try await mount.list() == ["d", "f"])
    #expect(try await mount.text("d/g") == "team/d/g")
  }
}
