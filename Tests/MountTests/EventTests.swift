// A mount that is told of changes shows them within seconds, however long its windows are, and asks for nothing else.
import Glibc
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct EventTests {
  private func stage(_ queue: FakeQueue, _ options: String...) async throws -> (FakeS3, Stage) {
    let server = try FakeS3()
    for name in ["d/a", "d/b"] { server.put(name, "old") }
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint,
      options: ["--events", queue.url, "--freshness", "1h", "--negative-freshness", "1h"] + options)
    return (server, Stage(mount: mount, origin: server))
  }

  @Test func `what was written, made or deleted is seen within seconds, and nothing else is asked for`() async throws {
    let queue = try FakeQueue()
    let (server, stage) = try await stage(queue)
    let mount = stage.mount
    let held = try await mount.open("d/a")
    for name in ["d/a", "d/b"] { #expect(try await mount.text(name) == "old") }
    #expect(try await mount.list("d") == ["a", "b"])
    #expect(await mount.errno { _ = try await mount.read("d/new file") } == .noEntry)
    #expect(await mount.errno { _ = try await mount.read("x/y") } == .noEntry)

    server.put("d/a", "new")
    server.put("d/new file", "made")
    server.put("x/y", "deep")
    server.delete("d/b")
    #expect(try await mount.text("d/a") == "old")
    let told = ContinuousClock.now
    queue.send(notification("ObjectCreated:Put", server.bucket, "d/a", sequencer: "1"))
    queue.send(notification("ObjectCreated:Put", server.bucket, "d/new+file", sequencer: "1"))
    queue.send(notification("ObjectCreated:Put", server.bucket, "x%2Fy", sequencer: "1"))
    queue.send(notification("ObjectRemoved:Delete", server.bucket, "d/b", sequencer: "1"))
    let isSeen = await eventually(within: .seconds(5)) {
      var seen: [String?] = []
      for name in ["d/a", "d/new file", "x/y"] { seen.append(try? await mount.text(name)) }
      let names = try? await mount.list("d")
      return seen == ["new", "made", "deep"] && names == ["a", "new file"]
    }
    #expect(isSeen)
    #expect(ContinuousClock.now - told < .seconds(3))
    #expect(await mount.errno { _ = try await mount.read("d/b") } == .noEntry)
    #expect(try await mount.list() == ["d", "x"])
    // Whoever has the old revision open has it on.
    #expect(try await mount.read(held, at: 0, count: 10) == Array("old".utf8))
    let isTaken = await eventually { queue.count == 0 }
    #expect(isTaken)

    let (_, cost) = try await stage.cost {
      for _ in 0..<100 { _ = try await mount.text("d/a") }
      #expect(try await mount.list("d") == ["a", "new file"])
    }
    #expect(cost.total == 0)
    let status = try await mount.status().json
    #expect(status.contains(#""events":{"queue":"\#(queue.url)","state":"listening""#), "\(status)")
    #expect(status.contains(#""messages":4,"changes":4"#), "\(status)")
    #expect(server.requests.allSatisfy { $0.method == "GET" || $0.method == "HEAD" })
  }

  @Test func `a queue that fails or is silent leaves the mount as it is without one`() async throws {
    let queue = try FakeQueue()
    queue.setMode(.refuse)
    let (server, stage) = try await stage(queue, "--freshness", "d/**=1s")
    let mount = stage.mount
    #expect(try await mount.text("d/a") == "old")
    let isTold = try await eventually { try await mount.status().json.contains(#""state":"failing""#) }
    #expect(isTold)
    server.put("d/a", "new")
    try await pass(.seconds(1))
    #expect(try await mount.text("d/a") == "new")
    queue.setMode(.blackhole)
    let read = ContinuousClock.now
    for _ in 0..<20 { #expect(try await mount.text("d/b") == "old") }
    #expect(ContinuousClock.now - read < .seconds(2))
    let ended = ContinuousClock.now
    #expect(try await mount.unmount().succeeded)
    #expect(ContinuousClock.now - ended < .seconds(3))
  }
}
