// Every key that can be a file name is one, byte for byte; one that can't harms nothing beside it.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

/// What a program sees below a directory of the mount: names in hexadecimal, each with the hash of its content.
private let walk = """
  import hashlib, os, sys
  root = os.fsencode(sys.argv[1])
  for at, directories, files in os.walk(root, onerror=lambda error: print("error", error)):
    for name in directories: print("d", os.path.relpath(os.path.join(at, name), root).hex())
    for name in files:
      with open(os.path.join(at, name), "rb") as f: data = f.read()
      print("f", os.path.relpath(os.path.join(at, name), root).hex(), data.hex())
  """

private func seen(_ mount: MountFixture, _ directory: String = "") async throws -> Set<String> {
  let result = try await python(walk, mount.path(directory))
  #expect(result.succeeded, "\(result)")
  let lines = result.output.split(separator: "\n").map(String.init)
  #expect(Set(lines).count == lines.count, "a name twice: \(lines)")
  return Set(lines)
}
private func file(_ path: [UInt8], _ content: [UInt8]) -> String { "f \(hexadecimal(path)) \(hexadecimal(content))" }
private func file(_ path: String, _ content: String) -> String { file(Array(path.utf8), Array(content.utf8)) }
private func directory(_ path: String) -> String { "d \(hexadecimal(Array(path.utf8)))" }

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct NamesTests {
  /// What is done before all is looked at.
  enum First: CaseIterable, Sendable { case list, child, file }

  // A020
  @Test(arguments: First.allCases, [1000, 2])
  func `where a file and a directory have one name the directory wins`(first: First, pageSize: Int) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = pageSize }
    for key in ["a", "a-b", "a/b", "x/y", "x/y/z", "x/y/z/w", "m", "m/", "q"] { server.put(key, key) }
    let stage = try await server.mounted("--freshness", "1s")
    let mount = stage.mount
    // Until a listing has shown both, the first look is for the file.
    switch first {
    case .list: break
    case .child: _ = await mount.errno { _ = try await mount.read("a/b") }
    case .file: _ = await mount.errno { _ = try await mount.read("a") }
    }
    _ = try await mount.list()
    let expected: Set = [
      directory("a"), file("a-b", "a-b"), file("a/b", "a/b"), directory("x"), directory("x/y"), directory("x/y/z"),
      file("x/y/z/w", "x/y/z/w"), directory("m"), file("q", "q"),
    ]
    #expect(try await seen(mount) == expected)
    #expect(await mount.errno { _ = try await mount.read("a") } == .isDirectory)
    #expect(try await mount.text("a/b") == "a/b")
    let log = try await run(["sh", "-c", "find \(mount.cache) -path '*log*' -type f | xargs grep -h warning"])
    for key in ["a", "x/y", "x/y/z", "m"] {
      let warnings = log.output.split(separator: "\n").filter { $0.contains("object \(key) ") }
      let hidden = try await mount.command(["status", mount.point, "--hidden"])
      #expect(warnings.count <= 1)
      #expect(hidden.output.contains("\"\(key)\""), "\(hidden)")
    }
  }

  // A021
  @Test func `marker objects are directories and nothing else`() async throws {
    let server = try FakeS3()
    server.put("e/", "")
    server.put("c/", "content")
    for key in ["c/f", "n/e/", "z"] { server.put(key, key == "n/e/" ? "" : key) }
    let stage = try await server.mounted("--freshness", "1s")
    let expected: Set = [
      directory("e"), directory("c"), file("c/f", "c/f"), directory("n"), directory("n/e"), file("z", "z"),
    ]
    for _ in 0..<2 {
      #expect(try await seen(stage.mount) == expected)
      #expect(try await stage.mount.list("e") == [])
      let removal = try await stage.mount.shell("rmdir e")
      #expect(removal.errors.contains("Read-only file system"), "\(removal)")
      #expect(try await stage.mount.command(["refresh", stage.mount.point]).succeeded)
    }
  }

  // A022, A023
  @Test(arguments: [1000, 1])
  func `keys with empty names in them are passed over, their neighbours are not`(pageSize: Int) async throws {
    let server = try FakeS3()
    server.configure { $0.pageSize = pageSize }
    for key in [
      "/", "//", "/x", "/x/y", "a//b", "a///c", "a/ok", "ok", "a/b", "b//", "c/./d", "c/../e", "c/f", ".", "..",
    ] {
      server.put(key, key)
    }
    let stage = try await server.mounted("--freshness", "1s")
    let found = try await stage.mount.shell("timeout 10 find . | sort && timeout 10 du . > /dev/null")
    #expect(found.succeeded, "\(found)")
    #expect(!found.errors.contains("loop"))
    let all = try await seen(stage.mount)
    let expected: Set = [
      directory("a"), file("a/ok", "a/ok"), file("ok", "ok"), file("a/b", "a/b"), directory("c"), file("c/f", "c/f"),
    ]
    #expect(all.subtracting([directory("b")]) == expected)
    #expect(try await stage.mount.text("a/b") == "a/b")
    #expect(try await stage.mount.text("a/ok") == "a/ok")
  }

  private static let odd = [
    "a+b", "a b", "a%20b", "a%2Bb", "a%2Fb", "50%", "q?x=1", "h#i", "a&b", "<t>", "\"q\"", "it's", "(1)!*",
    "a;b,c:d@e=f$g", "~t", " lead", "trail ", "back\\slash", "t\tab", "new\nline", "carriage\rreturn", "é", "e\u{301}",
    "日本", "😀", "...", "-rf", "*", "[a]", "{b}", "`c`", "|", "^",
  ]

  // A024
  @Test(.enabled(if: Machine.hasRealServer), arguments: ["", "dir with +/", "100%/&/"])
  func `odd names of the real server read back exactly`(prefix: String) async throws {
    let bucket = try await RealBucket.make()
    var expected: Set<String> = []
    // This server makes a slash of a backslash.
    for name in Self.odd where !name.contains("\\") {
      do { try await bucket.put(prefix + name, name) } catch { continue }
      expected.insert(file(name, name))
    }
    #expect(expected.count > 20)
    let stage = try await bucket.mounted()
    let all = try await seen(stage.mount, prefix)
    #expect(all == expected)
  }

  // A024, A025
  @Test(arguments: [true, false], [true, false])
  func `odd names are listed and read, whatever is done first`(encoded: Bool, byName: Bool) async throws {
    let server = try FakeS3()
    server.configure {
      $0.knowsEncodingType = encoded
      $0.requiresSignature = true
      // Not all is seen at the mount.
      $0.pageSize = 7
    }
    for prefix in ["", "dir with +/", "d/%2F/"] { for name in Self.odd { server.put(prefix + name, name) } }
    let stage = try await server.mounted()
    for prefix in ["dir with +/", "d/%2F/", ""] {
      if byName { for name in Self.odd { #expect(try await stage.mount.text(prefix + name) == name) } }
      let all = try await seen(stage.mount, prefix)
      #expect(Set(Self.odd.map { file($0, $0) }).subtracting(all) == [])
      if !prefix.isEmpty { #expect(all.count == Self.odd.count) }
    }
  }

  // A025
  @Test(arguments: [true, false])
  func `control bytes and noncharacters in one name leave its neighbours alone`(encoded: Bool) async throws {
    let server = try FakeS3()
    server.configure { $0.knowsEncodingType = encoded }
    let names = [1, 2, 8, 9, 10, 11, 13, 0x1F, 0x7F, 0x85, 0xFFFE, 0xFFFF].compactMap { Unicode.Scalar($0 as UInt32) }
      .map { "n\($0)x" }
    for name in names + ["before", "zz"] { server.put("d/" + name, name) }
    let stage = try await server.mounted()
    let all = try await seen(stage.mount, "d")
    #expect(Set([file("before", "before"), file("zz", "zz")]).subtracting(all) == [])
    if encoded {
      #expect(all == Set((names + ["before", "zz"]).map { file($0, $0) }))
    } else {
      // A name that XML can't carry may be missing, never wrong.
      #expect(all.subtracting((names + ["before", "zz"]).map { file($0, $0) }) == [])
    }
  }

  // A026
  @Test(arguments: First.allCases)
  func `names that are no UTF-8 keep their bytes`(first: First) async throws {
    let server = try FakeS3()
    let names: [[UInt8]] = [
      Array("caf".utf8) + [0xE9], [0xFF, 0xFE] + Array("name".utf8), [0xFE], [0xFF], [0xC3], Array("ok".utf8),
      [0xED, 0xA0, 0x80],
    ]
    for name in names {
      server.put(ObjectKey(Array("lat/".utf8) + name), FakeObject(.bytes(name), modified: 1_700_000_000))
      server.put(
        ObjectKey(Array("lat2/".utf8) + name + Array("/in".utf8)), FakeObject(.bytes(name), modified: 1_700_000_000))
    }
    if first != .list { server.configure { $0.pageSize = 2 } }
    let stage = try await server.mounted()
    if first == .file {
      let script = "import os, sys; print(open(os.fsencode(sys.argv[1]) + b'/lat/caf\\xe9', 'rb').read().hex(), end='')"
      #expect(try await python(script, stage.mount.point).output == hexadecimal(names[0]))
    }
    #expect(try await seen(stage.mount, "lat") == Set(names.map { file($0, $0) }))
    let below = try await seen(stage.mount, "lat2")
    #expect(below.filter { $0.hasPrefix("f") } == Set(names.map { file($0 + Array("/in".utf8), $0) }))
    if first != .list {
      // The request names the same bytes.
      #expect(server.requests(.get).contains { $0.target.hasSuffix("/lat/caf%E9") })
    }
  }
}
