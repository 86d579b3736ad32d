// A wrong clock, here or there, costs a request and never access, content or the daemon.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Machine.canMount))
struct ClockTests {
  private func log(_ mount: MountFixture) async throws -> String {
    try await run(["sh", "-c", "cat \"$0\"/log/*", mount.cache]).output
  }

  // A050
  @Test(arguments: [3600, -3600, 34_560_000] as [Int64])
  func `a server whose clock differs is asked by its own time`(ahead: Int64) async throws {
    let server = try FakeS3()
    server.configure { $0.clockAhead = ahead }
    for index in 0..<4 { server.put("d/f\(index)", "content \(index)") }
    let stage = try await server.mounted("--freshness", "1s")
    #expect(server.sums.failed == 1, "\(server.requests.map { ($0.target, $0.status) })")
    let (_, cost) = try await stage.cost {
      for index in 0..<4 {
        let text = try await stage.mount.text("d/f\(index)")
        #expect(text == "content \(index)")
      }
    }
    #expect(cost.failed == 0)
    let warnings = try await log(stage.mount).split(separator: "\n").filter { $0.contains("clock") }
    #expect(warnings.count == 1, "\(warnings)")
    // Set right, it is followed again.
    server.configure { $0.clockAhead = 0 }
    server.put("d/f0", "changed")
    try await pass(.seconds(1))
    let (text, after) = try await stage.cost { try await stage.mount.text("d/f0") }
    #expect(text == "changed")
    #expect(after.failed == 1)
  }

  // A050
  @Test func `a clock that runs away under a mount is not seen by readers`() async throws {
    let server = try FakeS3()
    for name in ["d/f", "d/g"] { server.put(name, name) }
    let stage = try await server.mounted("--freshness", "1s")
    #expect(try await stage.mount.text("d/f") == "d/f")
    server.configure { $0.clockAhead = 3600 }
    try await pass(.seconds(1))
    let (_, cost) = try await stage.cost {
      for name in ["d/f", "d/g", "d/f"] {
        let text = try await stage.mount.text(name)
        #expect(text == name)
      }
    }
    #expect(cost.failed == 1)
  }

  // A050: no offset helps where the refusal names no time.
  @Test func `a clock that can't be corrected is told at the mount, by name`() async throws {
    let server = try FakeS3()
    server.put("f", "x")
    server.configure { $0.clockAhead = 3600 }
    server.inject(.field("Date", nil))
    let mount = try MountFixture(server.bucket, endpoint: server.endpoint)
    let result = try await mount.mount()
    #expect(result.status == 5)
    #expect(result.errors.contains("clock"), "\(result)")
    #expect(!mount.isMounted)
  }

  // A008
  @Test(arguments: [3600, -3600])
  func `a clock that was set meanwhile makes a later mount ask again, and never crash`(shift: Int) async throws {
    let server = try FakeS3()
    for index in 0..<6 { server.put("d\(index % 2)/f\(index)", content(10_000, UInt64(index))) }
    let directory = try TemporaryDirectory("clock")
    let cache = directory.file("c")
    var stage = try await server.mounted("--freshness", "10m", cache: cache)
    for index in 0..<6 { _ = try await stage.mount.read("d\(index % 2)/f\(index)") }
    for name in ["d0", "d1", ""] { _ = try await stage.mount.list(name) }
    #expect(await stage.mount.errno { _ = try await stage.mount.read("d0/none") } == .noEntry)
    #expect(try await stage.mount.unmount().succeeded)
    // What was written lies as far in the future as the clock went back.
    let moved = try await python(
      """
      import glob, sqlite3, sys
      [path] = glob.glob(sys.argv[1] + "/*/catalogue.sqlite")
      with sqlite3.connect(path) as db:
        [(newest,)] = db.execute("SELECT max(validated) FROM objects")
        # Milliseconds or nanoseconds: as many as the time now has.
        unit = 10 ** (len(str(newest)) - 10)
        step = int(sys.argv[2]) * unit
        changed = 0
        for table, column in (("objects", "validated"), ("directories", "listed"), ("blobs", "used")):
          changed += db.execute(f"UPDATE {table} SET {column} = {column} + ?", (step,)).rowcount
      print(changed)
      """, cache, "\(shift)")
    #expect(Int(moved.output.dropLast()).map { $0 >= 12 } == true, "\(moved)")
    server.put("d0/f0", content(10_000, 77))
    server.reset()
    for isReachable in [false, true] {
      server.mode = isReachable ? .ok : .refuse
      stage = try await server.mounted("--freshness", "10m", cache: cache)
      for index in 0..<6 {
        let seed = UInt64(isReachable && index == 0 ? 77 : index)
        let print = try await stage.mount.fingerprint("d\(index % 2)/f\(index)")
        #expect(print == fingerprint(content(10_000, seed)), "f\(index)")
      }
      #expect(try await stage.mount.list("d1") == ["f1", "f3", "f5"])
      #expect(try await stage.mount.status().text("state") == (isReachable ? "online" : "offline"))
      #expect(try await stage.mount.unmount().succeeded)
    }
  }
}
