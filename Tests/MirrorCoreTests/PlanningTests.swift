// Promise 3: checks or pages, whichever is cheaper, counted at the bucket.
import MirrorCore
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1))) struct PlanningTests {
  private func open(_ fixture: MirrorFixture, _ paths: [String]) async -> Int {
    var found = 0
    for path in paths where await fixture.node(path) != nil { found += 1 }
    return found
  }

  /// USD in units of one GET, for the requests since the last call.
  private func price(_ fixture: MirrorFixture) -> Double {
    fixture.store.takeLog().reduce(0) { $0 + ($1.hasPrefix("list") ? 12.5 : 1) }
  }

  @Test func `a thousand hot files in one directory cost at most two pages a window`() async throws {
    let fixture = try MirrorFixture()
    let paths = (0..<1000).map { "hot/f\($0)" }
    for path in paths { fixture.store.put(path, path) }
    for path in paths { #expect(await fixture.read(path) == path) }
    _ = price(fixture)
    for _ in 0..<10 {
      fixture.clock.advance(.seconds(61))
      #expect(await open(fixture, paths) == 1000)
      #expect(price(fixture) <= 25)
    }
    await fixture.close()
  }

  @Test func `the same spread over a thousand neighbouring directories costs the same`() async throws {
    let fixture = try MirrorFixture()
    let paths = (0..<1000).map { "top/d\($0)/f" }
    for path in paths { fixture.store.put(path, path) }
    for path in paths { #expect(await fixture.read(path) == path) }
    _ = price(fixture)
    for _ in 0..<5 {
      fixture.clock.advance(.seconds(61))
      #expect(await open(fixture, paths) == 1000)
      #expect(price(fixture) <= 25)
    }
    await fixture.close()
  }

  @Test func `one file of a large directory is checked by itself`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.setPageSize(10)
    for number in 1000..<1500 { fixture.store.put("big/f\(number)", "x") }
    #expect(await fixture.read("big/f1250") == "x")
    for _ in 0..<20 {
      fixture.clock.advance(.seconds(61))
      _ = fixture.store.takeLog()
      #expect(await fixture.node("big/f1250") != nil)
      #expect(fixture.store.takeLog() == ["get big/f1250 0-262144 if-none-match"])
    }
    await fixture.close()
  }

  @Test func `a page shows what changed and what went, and only that is fetched`() async throws {
    let fixture = try MirrorFixture()
    let paths = (100..<200).map { "hot/f\($0)" }
    for path in paths { fixture.store.put(path, "old") }
    for path in paths { #expect(await fixture.read(path) == "old") }
    fixture.clock.advance(.seconds(61))
    _ = await open(fixture, paths)
    fixture.store.put("hot/f150", "new")
    fixture.store.delete("hot/f160")
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    for path in paths where path != "hot/f160" {
      #expect(await fixture.read(path) == (path == "hot/f150" ? "new" : "old"))
    }
    #expect(await fixture.errno("hot/f160") == .noEntry)
    #expect(fixture.store.takeLog() == ["list  flat", "get hot/f150 if-match"])
    await fixture.close()
  }

  @Test func `a walk of many small directories goes flat after the second`() async throws {
    let fixture = try MirrorFixture()
    for number in 0..<2000 { fixture.store.put("day/d\(10 + number / 100)/f\(1000 + number)", "x") }
    _ = try await fixture.mirror.start()
    _ = fixture.store.takeLog()
    var count = 0
    for directory in try await fixture.list("day").get() {
      count += try await fixture.list("day/\(directory)").get().count
    }
    #expect(count == 2000)
    let first = fixture.store.takeLog()
    #expect(first.count <= 4, "\(first)")
    fixture.clock.advance(.seconds(61))
    for directory in try await fixture.list("day").get() { _ = await fixture.list("day/\(directory)") }
    let again = fixture.store.takeLog()
    #expect(again.count <= 5, "\(again)")
    await fixture.close()
  }

  @Test func `a walk of directories that fill several pages together costs little more than these pages`() async throws
  {
    let fixture = try MirrorFixture()
    for number in 0..<10_000 { fixture.store.put("day/d\(100 + number / 100)/f\(10_000 + number)", "x") }
    _ = try await fixture.mirror.start()
    var count = 0
    for directory in try await fixture.list("day").get() {
      count += try await fixture.list("day/\(directory)").get().count
    }
    #expect(count == 10_000)
    // Each page begins with the directory that the one before cut off.
    let log = fixture.store.takeLog()
    #expect(log.count <= 10_000 / 900 + 4, "\(log)")
    await fixture.close()
  }

  @Test func `a page counts for those who waited, also where it took longer than the lifetime`() async throws {
    let fixture = try MirrorFixture(FreshnessRules(default: .seconds(2)))
    let paths = (10..<40).map { "hot/f\($0)" }
    for path in paths { fixture.store.put(path, path) }
    for path in paths { #expect(await fixture.read(path) == path) }
    fixture.clock.advance(.seconds(3))
    _ = fixture.store.takeLog()
    fixture.store.closeGate()
    await withTaskGroup(of: Bool.self) { group in
      for path in paths { group.addTask { await fixture.node(path) != nil } }
      #expect(await becomes(1) { fixture.store.asked("list") })
      fixture.clock.advance(.seconds(3))
      fixture.store.openGate()
      for await found in group { #expect(found) }
    }
    #expect(fixture.store.takeLog().count <= 13)
    await fixture.close()
  }

  @Test func `a page bought for a directory beside a large one vouches for its names`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.setPageSize(40)
    for number in 100..<200 { fixture.store.put("first/f\(number)", "x") }
    let paths = (10..<40).map { "second/f\($0)" }
    for path in paths { fixture.store.put(path, path) }
    _ = try await fixture.mirror.start()
    #expect(try await fixture.list("second").get().count == 30)
    fixture.clock.advance(.seconds(61))
    _ = fixture.store.takeLog()
    fixture.store.closeGate()
    await withTaskGroup(of: Bool.self) { group in
      for path in paths { group.addTask { await fixture.node(path) != nil } }
      #expect(await becomes(1) { fixture.store.asked("list") })
      fixture.clock.advance(.seconds(61))
      fixture.store.openGate()
      for await found in group { #expect(found) }
    }
    let log = fixture.store.takeLog()
    #expect(log.count <= 13, "\(log)")
    await fixture.close()
  }
}
