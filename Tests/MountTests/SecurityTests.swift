// What docs/security.md claims: of hostile buckets and endpoints, of other users, and of the program's own rights.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct SecurityTests {
  private static let hostile = [
    "../../../../escaped", "/escaped", "..", ".", "a/../../escaped", "%2e%2e%2fescaped", "..\\escaped", "-rf", "x\ny",
    "$(touch escaped)", "d/..", "d/./f", "//escaped", "\u{202E}txt.exe", "source", "lock", "catalogue.sqlite",
    "blobs/00/1",
  ]

  @Test func `whatever keys there are, nothing is written but under the cache's own names`() async throws {
    let server = try FakeS3()
    for key in Self.hostile { server.put(key, "evil") }
    let stage = try await server.mounted("--freshness", "1h")
    let outside = try TemporaryDirectory("outside")
    let mount = stage.mount
    _ = try await mount.shell(
      "find . -type f -exec cat {} + >/dev/null; cat ../escaped ./../../escaped '$(touch escaped)'")
    _ = try await mount.command(["warm", mount.point])
    // Names that lead out of the directory an export is written into, and a link that somebody put there.
    try FileSystem.makeDirectory(outside.file("export"))
    _ = try await run(["ln", "-s", outside.path, outside.file("export/d")])
    _ = try await mount.command(["cache", "export", "--cache-dir", mount.cache, outside.file("export")])
    let home = try #require(FileSystem.parent(of: mount.cache))
    let found = try await run([
      "find", home, outside.path, "-path", mount.point, "-prune", "-o", "-type", "f", "-print0",
    ])
    let own = try Regex(
      "cache/(CACHEDIR\\.TAG|log/[^/]+|[^/]+/(source|lock|catalogue\\.sqlite(-wal|-shm)?|blobs/[0-9a-f]{2}/[0-9a-f]+))")
    for path in found.output.split(separator: "\0") {
      let isExported = path.hasPrefix(outside.file("export") + "/")
      let name = path.dropFirst(home.count + 1)
      #expect(isExported || (try? own.wholeMatch(in: String(name))) != nil, "\(path)")
    }
    #expect(found.output.contains("/blobs/"))
    #expect(try FileSystem.list(outside.path) == ["export"])
  }

  @Test(arguments: ["", "blobs", "source", "lock", "catalogue.sqlite", "log"])
  func `a link in the place of a part of the cache is not followed`(part: String) async throws {
    let server = try FakeS3()
    server.put("f", "content")
    let stage = try await server.mounted("--freshness", "1h")
    let mount = stage.mount
    #expect(try await mount.text("f") == "content")
    try await mount.unmount()
    let outside = try TemporaryDirectory("outside")
    let source = try #require(try FileSystem.list(mount.cache).first { $0.hasPrefix(server.bucket) })
    let path = part == "log" ? "\(mount.cache)/log" : "\(mount.cache)/\(source)" + (part.isEmpty ? "" : "/\(part)")
    let isFile = ["source", "lock", "catalogue.sqlite"].contains(part)
    let target = isFile ? outside.file("target") : outside.path
    if isFile { try FileSystem.write(Array("precious".utf8), to: target, mode: 0o600) }
    _ = try await run(["sh", "-c", "mv \"$1\" \"$1.moved\" && ln -s \"$2\" \"$1\"", "sh", path, target])
    let result = try await mount.mount(["--freshness", "1h"])
    if result.succeeded {
      #expect(try await mount.text("f") == "content")
      try await mount.unmount()
    } else {
      #expect(result.errors.contains(mount.cache), "\(result)")
    }
    if isFile {
      #expect(try FileSystem.read(target) == Array("precious".utf8))
    } else {
      #expect(try FileSystem.list(outside.path).isEmpty)
    }
  }

  @Test(.enabled(if: Machine.isRoot)) func `the mount keeps few of root's rights, and no core of it holds memory`()
    async throws
  {
    let server = try FakeS3()
    server.put("f", "content")
    let stage = try await server.mounted("--freshness", "1s")
    let daemon = try #require(stage.mount.daemon)
    #expect(try await stage.mount.text("f") == "content")
    let threads = try FileSystem.list("/proc/\(daemon)/task")
    let kept: UInt64 = 1 << 1 | 1 << 2 | 1 << 19 | 1 << 21
    for thread in threads {
      let status = String(decoding: try FileSystem.read("/proc/\(daemon)/task/\(thread)/status"), as: UTF8.self)
      for set in ["CapPrm", "CapEff", "CapInh"] {
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(set) })
        let value = try #require(UInt64(line.split(separator: "\t").last ?? "", radix: 16))
        #expect(value & ~kept == 0, "\(line)")
      }
    }
    #expect(threads.count > 3)
    #expect(try FileSystem.read("/proc/\(daemon)/coredump_filter") == Array("00000000\n".utf8))
    let limits = String(decoding: try FileSystem.read("/proc/\(daemon)/limits"), as: UTF8.self)
    #expect(limits.contains(try Regex("Max core file size +0 +0 ")), "\(limits)")
    #expect(try await stage.mount.unmount().succeeded)
  }

  @Test func `nobody else reads cache, log or socket`() async throws {
    let server = try FakeS3()
    server.put("d/f", "content")
    let stage = try await server.mounted("--freshness", "1h")
    #expect(try await stage.mount.text("d/f") == "content")
    let home = try #require(FileSystem.parent(of: stage.mount.cache))
    let found = try await run([
      "find", home, "-mindepth", "1", "-path", stage.mount.point, "-prune", "-o", "-perm", "/077", "-printf", "%P %m\n",
    ])
    #expect(found.output.isEmpty, "\(found)")
    // Root's sockets lie in one place, whatever the environment says.
    let runtime = Machine.isRoot ? "/run/s3mirror" : home + "/s3mirror"
    let sockets = try await run(["find", runtime, "-type", "s", "-perm", "600"])
    #expect(!sockets.output.isEmpty)
    #expect(try FileSystem.attributes(runtime).permissions == 0o700)
  }

  // A redirection to somebody else's machine.
  @Test func `no signed request follows a redirection to another host`() async throws {
    let server = try FakeS3()
    let thief = try FakeS3()
    server.put("f", "content")
    thief.put("f", "stolen")
    let elsewhere = thief.endpoint.replacing("127.0.0.1", with: "localhost") + "/\(thief.bucket)/f"
    let stage = try await server.mounted("--freshness", "0s")
    for status in [301, 302, 307, 308] {
      server.inject(.answer(status, Fields([("Location", elsewhere)]), []), on: .get, times: 1)
      let text = try? await stage.mount.text("f")
      #expect(text == nil || text == "content")
    }
    #expect(thief.requests.isEmpty)
    #expect(try await stage.mount.text("f") == "content")
  }
}
