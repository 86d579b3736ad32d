// What was deleted goes, what was made comes: each within its own short time, whatever was known before.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.hasRealServer))
struct AbsenceTests {
  // A011
  @Test(arguments: [100, 3 << 20])
  func `a deleted object is there until the window ends, then it is not, and leaves nothing`(size: Int) async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("d/f", content(size, 1))
    try await bucket.put("d/g", "neighbour")
    let stage = try await bucket.mounted("--freshness", "3s")
    let mount = stage.mount
    #expect(try await mount.fingerprint("d/f") == fingerprint(content(size, 1)))
    _ = try await mount.read("d/g")
    var held: File? = try await mount.open("d/f")
    try await bucket.delete("d/f")
    let (seen, inside) = try await stage.cost { try await mount.fingerprint("d/f") }
    #expect(seen == fingerprint(content(size, 1)))
    #expect(inside.total == 0)
    try await pass(.seconds(3))
    let (error, after) = try await stage.cost { await mount.errno { _ = try await mount.read("d/f") } }
    #expect(error == .noEntry)
    #expect(after.total == 1)
    try await pass(.seconds(3))
    #expect(try await mount.list("d") == ["g"])
    if let held { #expect(try await mount.read(held, at: 0, count: size) == content(size, 1)) }
    // Its space comes back once nobody has it open.
    held = nil
    let reclaimed = try await eventually { try await cachedBytes(mount) < size }
    #expect(reclaimed)
    let isUncounted = try await eventually {
      let cached = try await mount.command(["cache", "ls", "--json", "--cache-dir", mount.cache])
      return cached.output.contains("\"key\":\"d/g\"") && !cached.output.contains("\"key\":\"d/f\"")
    }
    #expect(isUncounted)
  }

  /// Of every blob's file.
  private func cachedBytes(_ mount: MountFixture) async throws -> Int64 {
    let used = try await run(["sh", "-c", "find \"$0\" -path '*/blobs/*' -type f -printf '%s\\n'", mount.cache])
    return used.output.split(separator: "\n").compactMap { Int64($0) }.reduce(0, +)
  }

  // A012
  @Test(arguments: [404, 405])
  func `a delete marker is an absence, asked for once, and its end is seen`(status: Int) async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1s", "--negative-freshness", "500ms")
    #expect(try await stage.mount.text("d/f") == "d/f")
    try await pass(.seconds(1))
    let object = try #require(server.object("d/f"))
    server.delete("d/f")
    server.inject(
      .status(status, code: status == 404 ? "NoSuchKey" : "MethodNotAllowed"), .field("x-amz-delete-marker", "true"),
      on: .get, key: "d/f")
    let (error, cost) = try await stage.cost { await stage.mount.errno { _ = try await stage.mount.read("d/f") } }
    #expect(error == .noEntry)
    #expect(cost.gets == 1)
    #expect(cost.total == 1)
    server.clearFaults()
    server.put(ObjectKey("d/f"), object)
    try await pass(.milliseconds(500))
    #expect(try await stage.mount.text("d/f") == "d/f")
  }

  // A013
  @Test(arguments: ["x", "d/x", "a/b/c"], [true, false])
  func `a name that was looked for too early appears after the negative lifetime`(key: String, isListed: Bool)
    async throws
  {
    let bucket = try await RealBucket.make()
    for name in ["d/1", "e"] { try await bucket.put(name, name) }
    let stage = try await bucket.mounted("--freshness", "600s", "--negative-freshness", "1s")
    if isListed { for directory in ["", "d"] { _ = try await stage.mount.list(directory) } }
    #expect(await stage.mount.errno { _ = try await stage.mount.read(key) } == .noEntry)
    try await bucket.put(key, "came")
    // While the absence is known nothing is asked; after it, at most a second in which it may be found.
    let (_, cost) = try await stage.cost {
      for _ in 0..<20 { _ = await stage.mount.errno { _ = try await stage.mount.attributes(key) } }
    }
    #expect(cost.total <= 2)
    try await pass(.seconds(1))
    #expect(try await stage.mount.text(key) == "came")
  }

  // A013
  @Test func `without a negative lifetime a name appears at once`() async throws {
    let bucket = try await RealBucket.make()
    try await bucket.put("d/1", "1")
    let stage = try await bucket.mounted("--freshness", "600s", "--negative-freshness", "0s")
    for round in 0..<3 {
      #expect(await stage.mount.errno { _ = try await stage.mount.read("d/x\(round)") } == .noEntry)
      try await bucket.put("d/x\(round)", "came")
      // An answer serves whoever comes within a moment of it.
      try await pass(.zero)
      #expect(try await stage.mount.text("d/x\(round)") == "came")
    }
  }

  // A013
  @Test func `a name that was looked for is not looked for again after a crash, and appears when its time is over`()
    async throws
  {
    let bucket = try await RealBucket.make()
    for name in ["d/1", "e"] { try await bucket.put(name, name) }
    let directory = try TemporaryDirectory("cache")
    let options = ["--freshness", "600s", "--negative-freshness", "20s"]
    let names = ["nope", "d/nope", "none/at/all"]
    var stage = try await bucket.mounted(options, cache: directory.file("c"))
    for name in names { #expect(await stage.mount.errno { _ = try await stage.mount.read(name) } == .noEntry) }
    // The work of the last five seconds may be lost in a crash.
    try await Task.sleep(for: .seconds(5))
    try await stage.mount.killDaemon()
    let before = bucket.proxy.sums
    for name in names { try await bucket.put(name, "came") }
    stage = try await bucket.mounted(options, cache: directory.file("c"))
    for name in names { #expect(await stage.mount.errno { _ = try await stage.mount.read(name) } == .noEntry) }
    let explained = try await stage.mount.command(["explain", stage.mount.path("d/nope")])
    #expect(explained.output.contains("absent"), "\(explained)")
    #expect(bucket.proxy.sums == before)
    let came = await eventually(within: .seconds(22)) { (try? await stage.mount.text("d/nope")) == "came" }
    #expect(came)
  }

  // A014
  @Test(arguments: [true, false])
  func `a thousand looks for what is not there cost next to nothing`(isListed: Bool) async throws {
    let bucket = try await RealBucket.make()
    for index in 0..<5 { try await bucket.put("d/\(index)", "x") }
    let stage = try await bucket.mounted("--freshness", "600s", "--negative-freshness", "60s")
    if isListed { _ = try await stage.mount.list("d") }
    let script = """
      import os, sys
      for _ in range(1000):
        for name in ("nope", "__init__.py", ".git"):
          assert not os.path.exists(os.path.join(sys.argv[1], name))
      """
    let (result, cost) = try await stage.cost { try await python(script, stage.mount.path("d")) }
    #expect(result.succeeded, "\(result)")
    #expect(cost.total <= (isListed ? 0 : 6))
  }

  // A015
  @Test func `what is new in a listed directory is there by name at once, and in ls when the listing ends`()
    async throws
  {
    let bucket = try await RealBucket.make()
    for index in 1...50 { try await bucket.put("d/\(index)", "x") }
    let stage = try await bucket.mounted("--freshness", "2s", "--negative-freshness", "500ms")
    let mount = stage.mount
    #expect(try await mount.list("d").count == 50)
    try await bucket.put("d/51", "new")
    let byName = await eventually(within: .seconds(2)) { (try? await mount.text("d/51")) == "new" }
    #expect(byName)
    let listed = try await eventually(within: .seconds(4)) { try await mount.list("d").count == 51 }
    #expect(listed)
    try await bucket.delete("d/1")
    // What `ls` can't look at it shows as question marks.
    let looks = try await mount.shell(
      """
      for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
        ls -l d > \(mount.cache)/ls 2>&1 || true
        grep -q '??' \(mount.cache)/ls && cat \(mount.cache)/ls
        test -e d/1 || gone=yes
        sleep 0.25
      done
      echo gone=$gone $(ls d | wc -l)
      """)
    #expect(looks.output == "gone=yes 50\n", "\(looks)")
  }
}
