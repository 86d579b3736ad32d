// `--at`: the bucket as it was, read-only, and apart from what it is now.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct PastTests {
  private func now() -> String { Timestamp(seconds: SystemClock().wall().seconds).rfc3339 }

  @Test func `the bucket is shown as it was, beside what it is now`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.server.keepVersions(bucket.name)
    try await bucket.put("a", "first a")
    try await bucket.put("gone", "was here")
    try await bucket.put("d/e/f", content(300_000, 1))
    try await bucket.put("big", content(9 << 20, 1))
    try await Task.sleep(for: .seconds(2))
    let moment = now()
    try await Task.sleep(for: .seconds(2))
    try await bucket.put("a", "second a")
    try await bucket.delete("gone")
    try await bucket.put("d/e/f", "now short")
    try await bucket.put("later/x", "came later")
    try await bucket.put("big", content(9 << 20, 2))

    let past = try await bucket.mounted("--at", moment)
    let mount = past.mount
    #expect(try await mount.list() == ["a", "big", "d", "gone"])
    #expect(try await mount.list("d/e") == ["f"])
    #expect(try await mount.text("a") == "first a")
    #expect(try await mount.text("gone") == "was here")
    #expect(try await mount.fingerprint("d/e/f") == fingerprint(content(300_000, 1)))
    #expect(try await mount.fingerprint("big") == fingerprint(content(9 << 20, 1)))
    #expect(await mount.errno { _ = try await mount.attributes("later") } == .noEntry)
    #expect(try await mount.extendedAttribute("user.s3.version-id", of: "a")?.isEmpty == false)
    #expect(try await mount.status().text("at") == moment)
    let explained = try await mount.command(["explain", mount.path("a"), "--json"])
    #expect(StatusText(json: explained.output).text("at") == moment)
    #expect(StatusText(json: explained.output).text("verdict") == "fresh")

    // The present, with the same cache directory.
    let present = try await bucket.mounted([], cache: mount.cache)
    #expect(try await present.mount.list() == ["a", "big", "d", "later"])
    #expect(try await present.mount.text("a") == "second a")
    #expect(try await mount.text("a") == "first a")

    // Nothing of it is asked for twice, over a remount either.
    try await mount.unmount()
    #expect(try await mount.mount(["--at", moment]).succeeded)
    let again = Stage(mount: mount, origin: past.origin)
    let ((text, big, names), cost) = try await again.cost {
      _ = await mount.errno { _ = try await mount.attributes("later") }
      return (try await mount.text("a"), try await mount.fingerprint("big"), try await mount.list())
    }
    #expect(text == "first a" && big == fingerprint(content(9 << 20, 1)) && names == ["a", "big", "d", "gone"])
    #expect(cost.total == 0)
  }

  @Test(arguments: [1000, 2])
  func `pages, marks of deletion and directories that came later`(pageSize: Int) async throws {
    let server = try FakeS3()
    server.configure {
      $0.keepsVersions = true
      $0.pageSize = pageSize
    }
    for time in Int64(1)...5 { server.put("k", Array("k\(time)".utf8), modified: 1_700_000_000 + time * 10) }
    server.put("dir/a", Array("a".utf8), modified: 1_700_000_000)
    server.put("new/b", Array("b".utf8), modified: 1_700_000_100)
    server.put("dead", Array("x".utf8), modified: 1_700_000_000)
    server.delete("dead")
    let stage = try await server.mounted("--at", "2023-11-14T22:13:55Z")  // 1_700_000_035
    #expect(try await stage.mount.list() == ["dead", "dir", "k"])
    #expect(try await stage.mount.text("k") == "k3")
    #expect(try await stage.mount.text("dir/a") == "a")
    #expect(await stage.mount.errno { _ = try await stage.mount.attributes("new") } == .noEntry)
    #expect(server.requests.filter { $0.kind == .get }.allSatisfy { $0.query["versionId"] != nil })
    let status = try await stage.mount.status()
    #expect(try status.count("list") == server.sums.lists)
  }

  @Test func `a file is found by its name alone, by a listing of its versions`() async throws {
    let server = try FakeS3()
    server.configure { $0.keepsVersions = true }
    for number in 0..<1500 { server.put("d/f\(number)", Array("\(number)".utf8), modified: 1_700_000_000) }
    server.put("d/f7", Array("newer".utf8), modified: 1_700_000_100)
    let stage = try await server.mounted("--at", "2023-11-14T22:14:00Z")
    let (text, cost) = try await stage.cost { try await stage.mount.text("d/f7") }
    #expect(text == "7")
    #expect(cost.total <= 4)
  }

  @Test func `a bucket that keeps no versions is refused, with a reason`() async throws {
    let server = try FakeS3()
    server.put("f", "content")
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await mount.mount(["--at", "2026-01-01"])
    #expect(result.status == 1)
    #expect(result.errors.contains("versioning was never switched on") && result.errors.contains("--at"))
    #expect(!mount.isMounted)
  }

  @Test(arguments: ["yesterday", "2999-01-01", "2026-13-01", "ago"])
  func `a time that makes no sense is refused`(text: String) async throws {
    let server = try FakeS3()
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await mount.mount(["--at", text])
    #expect(result.status == 2)
    #expect(server.sums.total == 0)
  }
}
