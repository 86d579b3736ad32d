// An object that was overwritten shows its new content after the window, whatever else stayed the same.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct OverwriteTests {
  // A001
  @Test(arguments: [4, 70_000, 1 << 20, 9 << 20])
  func `an overwrite of the same size is seen after the window`(size: Int) async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("f", content(size, 1))
    let stage = try await bucket.mounted("--freshness", "1s")
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(size, 1)))
    try await bucket.put("f", content(size, 2))
    try await pass(.seconds(1))
    let (seen, cost) = try await stage.cost { try await stage.mount.fingerprint("f") }
    #expect(seen == fingerprint(content(size, 2)))
    #expect(cost.heads == 0)
    #expect(cost.lists == 0)
    // One request while the object is small; of a larger one its beginning, then the rest in parts, whose edges are
    // those of the kernel's first reads.
    let asked = stage.origin.requests.suffix(cost.total).map {
      "\($0.range ?? "whole") \($0.fields["if-none-match"] ?? $0.fields["if-match"] ?? "") \($0.status) \($0.bytesSent)"
    }
    #expect(cost.total <= (size <= 256 << 10 ? 1 : 2 + max(1, size >> 20) + size >> 23), "\(asked)")
    #expect(cost.bodyBytes == Int64(size), "\(asked)")
  }

  // A001
  @Test(arguments: [4, 1 << 20])
  func `an overwrite in the same second is seen, again and again`(size: Int) async throws {
    let server = try FakeS3()
    server.put("d/f", content(size, 0), modified: 1_700_000_000)
    let stage = try await server.mounted("--freshness", "300ms")
    for round in 1...3 {
      #expect(try await stage.mount.fingerprint("d/f") == fingerprint(content(size, UInt64(round - 1))))
      server.put("d/f", content(size, UInt64(round)), modified: 1_700_000_000)
      try await pass(.milliseconds(300))
    }
    let (seen, cost) = try await stage.cost { try await stage.mount.fingerprint("d/f") }
    #expect(seen == fingerprint(content(size, 3)))
    #expect(cost.gets == (size <= 256 << 10 ? 1 : 2))
    #expect(cost.total == cost.gets)
  }

  // A003
  @Test(arguments: [(10, 100), (100, 10), (0, 7), (7, 0), (10, 5 << 20), (5 << 20, 10), (300_000, 299_999)])
  func `size, end and content are of one version`(old: Int, new: Int) async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("f", content(old, 1))
    let stage = try await bucket.mounted("--freshness", "1s")
    #expect(try await stage.mount.attributes("f").size == Int64(old))
    #expect(try await stage.mount.fingerprint("f") == fingerprint(content(old, 1)))
    try await bucket.put("f", content(new, 2))
    try await pass(.seconds(1))
    // A stat just before must not leave its size to the open.
    let script = """
      import hashlib, os, sys
      os.stat(sys.argv[1])
      with open(sys.argv[1], "rb") as f:
        size = os.fstat(f.fileno()).st_size
        data = f.read()
      print(f"{size} {len(data)}:{hashlib.sha256(data).hexdigest()}", end="")
      """
    let seen = try await python(script, stage.mount.path("f"))
    #expect(seen.output == "\(new) \(fingerprint(content(new, 2)))", "\(seen.errors)")
  }

  // A006
  @Test func `who sees a new date gets the new content, even inside the window`() async throws {
    let bucket = try await RealBucket.make()
    for name in ["d/a", "d/f", "d/z"] { try await bucket.put(name, "old") }
    let stage = try await bucket.mounted("--freshness", "/d=1s", "--freshness", "600s")
    let before = try await stage.mount.attributes("d/f")
    #expect(try await stage.mount.text("d/f") == "old")
    try await pass(.seconds(1))
    try await bucket.put("d/f", "new")
    let listing = try await stage.mount.shell("ls -l --time-style=+%s d")
    #expect(listing.succeeded)
    let after = try await stage.mount.attributes("d/f")
    #expect(after.modified > before.modified)
    #expect(listing.output.contains(" \(after.modified) f"))
    let (seen, cost) = try await stage.cost { try await stage.mount.text("d/f") }
    #expect(seen == "new")
    #expect(cost.total <= 2)
  }

  // A007
  @Test(arguments: [5, 1 << 20], [true, false])
  func `the same bytes put again move the date and nothing else`(size: Int, told: Bool) async throws {
    let server = try FakeS3()
    // Some servers tell the date with a 304, with others the next listing does.
    server.configure { $0.describesNotModified = told }
    server.put("d/f", content(size, 1), modified: 1_700_000_000)
    let stage = try await server.mounted("--freshness", "1s")
    _ = try await stage.mount.read("d/f")
    let before = try await stage.mount.attributes("d/f")
    #expect(before.modified == 1_700_000_000)
    try await pass(.seconds(1))
    server.put("d/f", content(size, 1), modified: 1_700_000_005)
    let (seen, cost) = try await stage.cost { try await stage.mount.fingerprint("d/f") }
    #expect(seen == fingerprint(content(size, 1)))
    #expect(cost.total == 1)
    #expect(cost.notModified == 1)
    #expect(cost.bodyBytes == 0)
    if !told {
      try await pass(.seconds(1))
      _ = try await stage.mount.list("d")
    }
    let after = try await stage.mount.attributes("d/f")
    #expect(after.modified == 1_700_000_005)
    #expect(after.inode == before.inode)
  }
}
