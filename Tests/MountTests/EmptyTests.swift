// Empty objects are files like all others.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct EmptyTests {
  // A040
  @Test(arguments: [true, false])
  func `an empty object reads as nothing, and is asked for once`(isListed: Bool) async throws {
    let server = try FakeS3()
    for name in ["d/e", "d/f"] { server.put(name, "") }
    // As S3 does: no range of nothing can be satisfied.
    let stage = try await server.mounted("--freshness", "3s")
    let mount = stage.mount
    if isListed { #expect(try await mount.list("d") == ["e", "f"]) }
    let (seen, first) = try await stage.cost { (try await mount.read("d/e"), try await mount.attributes("d/e").size) }
    #expect(seen == ([], 0))
    #expect(first.gets <= 2)
    #expect(first.total <= 3)
    let copied = try await mount.shell(
      "cat d/e && dd if=d/e bs=1 count=1 status=none | wc -c && cp d/e \(mount.cache)/e")
    #expect(copied.output == "0\n", "\(copied)")
    let (_, again) = try await stage.cost { for _ in 0..<10 { _ = try await mount.read("d/e") } }
    #expect(again.total == 0)
    try await pass(.seconds(3))
    let (bytes, stale) = try await stage.cost { try await mount.read("d/e") }
    #expect(bytes == [])
    #expect(stale.total == 1)
    #expect(stale.bodyBytes == 0)
    server.mode = .refuse
    try await pass(.seconds(3))
    #expect(try await mount.read("d/e") == [])
  }

  // A016
  @Test(arguments: [S3RequestKind.list, .get])
  func `a half-made version passes, and an older answer that comes late does not bring it back`(late: S3RequestKind)
    async throws
  {
    let server = try FakeS3()
    server.put("d/f", "")
    server.put("d/g", "neighbour")
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    #expect(try await mount.text("d/f") == "")
    // An answer is made while the object is empty, and arrives when it is not any more.
    try await pass(.seconds(1))
    server.inject(.hangAfter(late == .list ? 20 : 0), on: late, times: 1)
    async let old = late == .list ? mount.list("d").joined() : mount.text("d/f")
    #expect(await server.arrived(1, nil))
    try await Task.sleep(for: .milliseconds(300))
    server.put("d/f", content(1 << 20, 7))
    if late == .list {
      let seen = try await mount.fingerprint("d/f")
      #expect(seen == fingerprint(content(1 << 20, 7)))
    }
    server.release()
    _ = try await old
    if late == .get { try await pass(.seconds(1)) }
    for _ in 0..<3 { #expect(try await mount.fingerprint("d/f") == fingerprint(content(1 << 20, 7))) }
    #expect(try await mount.attributes("d/f").size == 1 << 20)
  }

  // A040
  @Test func `empty becomes full and empty again`() async throws {
    let server = try FakeS3()
    server.put("d/e", "")
    let stage = try await server.mounted("--freshness", "300ms")
    for text in ["", "12345", "", "1", ""] {
      server.put("d/e", text)
      try await pass(.milliseconds(300))
      let seen = try await stage.mount.text("d/e")
      #expect(seen == text)
      #expect(try await stage.mount.attributes("d/e").size == Int64(text.count))
    }
  }
}
