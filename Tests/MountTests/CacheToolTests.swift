// The cache's tools beside a running mount, and without one.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)), .enabled(if: MountFixture.isAvailable))
struct CacheToolTests {
  private func stage() async throws -> (FakeS3, Stage) {
    let server = try FakeS3()
    for number in 0..<4 { server.put("d/f\(number)", content(300_000, UInt64(number))) }
    server.put("big.bin", content(20 << 20, 9))
    server.put("x", "file")
    server.put("x/y", "below")
    let stage = try await server.mounted("--freshness", "1h")
    for number in 0..<4 { _ = try await stage.mount.read("d/f\(number)") }
    _ = try await stage.mount.read("big.bin", at: 0, count: 1000)
    return (server, stage)
  }

  private func cache(_ mount: MountFixture, _ arguments: String...) async throws -> CommandResult {
    try await mount.command(["cache", arguments[0], "--cache-dir", mount.cache] + arguments.dropFirst())
  }

  // A099
  @Test(arguments: [true, false])
  func `ls finds by pattern, state and size, in any order, and asks nothing`(isMounted: Bool) async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    // The catalogue is up to two seconds behind.
    #expect(
      try await eventually { try await cache(mount, "ls").output.split(separator: "\n").count == 5 })
    if !isMounted { try await mount.unmount() }
    let before = server.sums.total
    func keys(_ arguments: String...) async throws -> [String] {
      let result = try await mount.command(["cache", "ls", "--json", "--cache-dir", mount.cache] + arguments)
      #expect(result.succeeded, "\(result)")
      return result.output.split(separator: "\n").compactMap { StatusText(json: String($0)).text("key") }
    }
    #expect(try await keys() == ["big.bin", "d/f0", "d/f1", "d/f2", "d/f3"])
    #expect(try await keys("d/") == ["d/f0", "d/f1", "d/f2", "d/f3"])
    #expect(try await keys("d/f[12]") == ["d/f1", "d/f2"])
    #expect(try await keys("s3://\(server.bucket)/d/f3") == ["d/f3"])
    #expect(try await keys("s3://elsewhere/") == [])
    #expect(try await keys("--state", "partial") == ["big.bin"])
    #expect(try await keys("--state", "whole", "--state", "fresh", "--limit", "2") == ["d/f0", "d/f1"])
    #expect(try await keys("--larger", "1MiB") == ["big.bin"])
    #expect(try await keys("--smaller", "1MiB", "--reverse", "--limit", "1") == ["d/f3"])
    #expect(try await keys("--sort", "size").first == "big.bin")
    #expect(try await cache(mount, "ls", "--state", "frehs").errors.contains("did you mean 'fresh'?"))
    #expect(try await cache(mount, "du").output.split(separator: "\n").count == 2)
    #expect(server.sums.total == before)
    server.stop()
  }

  @Test(arguments: [true, false])
  func `verify finds a flipped byte, and repair has it fetched anew`(isMounted: Bool) async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    #expect(try await eventually { try await cache(mount, "verify").succeeded })
    #expect(try await eventually { try await cache(mount, "ls").output.split(separator: "\n").count == 5 })
    if !isMounted { try await mount.unmount() }
    let script = """
      import os, sys
      for directory, _, names in os.walk(sys.argv[1]):
          for name in names:
              path = os.path.join(directory, name)
              data = open(path, "rb").read()
              if len(data) == 300000 and data[200000:] == open(sys.argv[2], "rb").read()[200000:]:
                  with open(path, "r+b") as file:
                      file.seek(140000); file.write(bytes([data[140000] ^ 255]))
                  print("flipped")
      """
    let original = try TemporaryDirectory("original")
    try FileSystem.write(content(300_000, 2), to: original.file("f2"), mode: 0o600)
    let flipped = try await python(script, mount.cache, original.file("f2"))
    #expect(flipped.output == "flipped\n", "\(flipped)")
    let found = try await cache(mount, "verify")
    #expect(found.status == 9 && found.output.contains("d/f2: bytes 131072 to 262143 are damaged"), "\(found)")
    let repaired = try await cache(mount, "verify", "--repair")
    #expect(repaired.status == 0 && repaired.output.contains("dropped: 1 blocks"), "\(repaired)")
    #expect(
      try await eventually { try await cache(mount, "verify").output.contains("no damage") })
    if !isMounted { try await mount.mount(["--freshness", "1h"]) }
    if isMounted, Machine.isRoot { try await MountFixture.dropKernelCaches() }
    let before = server.sums
    #expect(try await mount.fingerprint("d/f2") == fingerprint(content(300_000, 2)))
    #expect(server.sums.gets == before.gets + 1)
    // Only the block that was damaged, not the object.
    #expect(server.sums.bodyBytes - before.bodyBytes < 200_000)
    server.stop()
  }

  @Test func `evict and gc work beside a mount, and leave what is open`() async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    #expect(try await eventually { try await cache(mount, "ls").output.split(separator: "\n").count == 5 })
    let held = try await mount.open("d/f3")
    _ = try await mount.read(held, at: 0, count: 10)
    let evicted = try await cache(mount, "evict", "d/")
    #expect(evicted.succeeded && evicted.output.contains("3 objects deleted"), "\(evicted)")
    #expect(evicted.output.contains("1 are in use and stay"), "\(evicted)")
    let before = server.sums.gets
    #expect(try await mount.fingerprint("d/f0") == fingerprint(content(300_000, 0)))
    #expect(server.sums.gets > before)
    let gc = try await cache(mount, "gc", "--cache-size", "100K", "--json")
    #expect(gc.succeeded, "\(gc)")
    #expect(try StatusText(json: gc.output).count("freedBytes") >= 0)
    #expect(try await mount.read(held, at: 299_990, count: 10) == Array(content(300_000, 3).suffix(10)))
    server.stop()
  }

  @Test(arguments: [true, false])
  func `export writes what is whole, and tells the rest`(isMounted: Bool) async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    #expect(try await eventually { try await cache(mount, "ls").output.split(separator: "\n").count == 5 })
    if !isMounted { try await mount.unmount() }
    let before = server.sums.total
    let out = try TemporaryDirectory("export")
    let result = try await cache(mount, "export", out.file("tree"))
    #expect(result.succeeded && result.output.hasPrefix("4 files written"), "\(result)")
    #expect(result.output.contains("1 left out:\n  big.bin: only "), "\(result)")
    for number in 0..<4 {
      let bytes = try FileSystem.read(out.file("tree/d/f\(number)"))
      #expect(fingerprint(bytes) == fingerprint(content(300_000, UInt64(number))))
    }
    #expect(server.sums.total == before)
    #expect(try await cache(mount, "export").status == 2)
    server.stop()
  }

  @Test func `keys without a name are told with and without the mount`() async throws {
    let (server, stage) = try await stage()
    let mount = stage.mount
    server.put("a//b", "1")
    _ = try await mount.command(["refresh", mount.point])
    _ = try await mount.list()
    for _ in 0..<2 {
      let isTold = try await eventually {
        let told = try await mount.command(
          mount.isMounted ? ["keys", "--hidden", mount.point] : ["keys", "--hidden", "--cache-dir", mount.cache])
        return told.output.contains("x: a directory has the same name") && told.output.contains("a//b: ")
      }
      #expect(isTold)
      if mount.isMounted { try await mount.unmount() }
    }
    let json = try await mount.command(["keys", "--hidden", "--json", "--cache-dir", mount.cache])
    #expect(json.output.split(separator: "\n").count == 2 && json.output.contains("\"key\":\"a//b\""), "\(json)")
    #expect(try await mount.command(["keys"]).status == 2)
    server.stop()
  }
}
