// s3mirror(7), NAMES: which key appears under which name.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct NamesTests {
  private func tree(_ keys: [String], pageSize: Int = 1000) async throws -> (MirrorFixture, [String]) {
    let fixture = try MirrorFixture()
    for key in keys { fixture.store.put(key, "content of \(key)") }
    fixture.store.setPageSize(pageSize)
    var found: [String] = []
    var open = [""]
    while let directory = open.popLast() {
      for name in try await fixture.list(directory).get() {
        let path = directory.isEmpty ? name : "\(directory)/\(name)"
        guard let node = await fixture.node(path) else { continue }
        found.append(node.isDirectory ? path + "/" : path)
        if node.isDirectory { open.append(path) }
      }
    }
    return (fixture, found.sorted())
  }

  @Test(arguments: [1, 2, 3, 1000])
  func `a directory wins over a file of its name, whatever the order and the pages`(_ pageSize: Int) async throws {
    let (fixture, found) = try await tree(["a", "a-b", "a/b", "m", "m/", "x/y", "x/y/z"], pageSize: pageSize)
    #expect(found == ["a-b", "a/", "a/b", "m/", "x/", "x/y/", "x/y/z"])
    #expect(fixture.mirror.hiddenKeys().map(\.key.description) == ["a", "m", "m/", "x/y"])
    #expect(await fixture.read("a/b") == "content of a/b")
    await fixture.close()
  }

  @Test func `a listing that begins anew for ever is an error, and is not paid for without end`() async throws {
    let fixture = try MirrorFixture()
    for number in 0..<10 { fixture.store.put("d/f\(number)", "x") }
    fixture.store.setPageSize(3)
    fixture.store.ignorePlaces()
    let directory = try #require(await fixture.node("d"))
    _ = fixture.store.takeLog()
    let opened = try await fixture.open(directory.node).get()
    #expect(await fixture.names(directory.node, opened.handle) == .failure(.inputOutput))
    #expect(fixture.store.takeLog().count < 10)
    await fixture.close()
  }

  @Test(arguments: [1, 1000])
  func `keys without a name are hidden, their neighbours are not`(_ pageSize: Int) async throws {
    let long = String(repeating: "b", count: 256)
    let (fixture, found) = try await tree(
      ["/x", "a//b", "a///c", "a/ok", "d/./x", "d/../y", "d/ok", "e/", "l/\(long)", "l/ok", "n/\0", "ok"],
      pageSize: pageSize)
    #expect(found == ["a/", "a/ok", "d/", "d/ok", "e/", "l/", "l/ok", "n/", "ok"])
    #expect(await fixture.read("a/ok") == "content of a/ok")
    #expect(fixture.mirror.status().hiddenKeys >= 6)
    await fixture.close()
  }

  @Test func `names are bytes: canonically equal ones stay apart, and need not be UTF-8`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("n/\u{e9}", "composed").put("n/e\u{301}", "decomposed")
    fixture.store.put(bytes: Array("n/".utf8) + [0xFF, 0xFE], Array("bytes".utf8))
    #expect(try await fixture.list("n").get().count == 3)
    #expect(await fixture.read("n/\u{e9}") == "composed")
    #expect(await fixture.read("n/e\u{301}") == "decomposed")
    await fixture.close()
  }

  @Test func `a deep path in a small bucket costs one listing and one GET`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("a/b/c/d/e/f.png", "deep").put("a/b/c/d/e/g.png", "beside")
    #expect(await fixture.read("a/b/c/d/e/f.png") == "deep")
    #expect(fixture.store.takeLog() == ["list a flat", "get a/b/c/d/e/f.png if-match"])
    #expect(await fixture.read("a/b/c/d/e/g.png") == "beside")
    #expect(fixture.store.takeLog().count == 1)
    await fixture.close()
  }

  @Test func `one file in a large directory never lists it`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.setPageSize(10)
    for number in 100..<200 { fixture.store.put("big/f\(number)", "\(number)") }
    #expect(await fixture.read("big/f177") == "177")
    #expect(fixture.store.takeLog().count <= 3)
    #expect(await fixture.errno("big/missing") == .noEntry)
    #expect(fixture.store.takeLog().count <= 2)
    await fixture.close()
  }

  @Test func `a first listing that breaks off is an error for every reader, however late he comes`() async throws {
    let (fixture, names) = try large()
    fixture.store.closeGate()
    let opening = Task { await fixture.open(.root) }
    #expect(await eventually { fixture.store.asked("list") == 1 })
    fixture.store.stepGate()
    let handle = try await opening.value.get().handle
    #expect(await eventually { fixture.store.asked("list") == 3 })
    fixture.store.fail(.serverError)
    fixture.store.openGate()
    // All is over before the directory is read.
    try await Task.sleep(for: .milliseconds(200))
    #expect(await fixture.names(.root, handle) == .failure(.inputOutput))
    fixture.store.fail(nil)
    #expect(await fixture.list("") == .success(names))
    await fixture.close()
  }

  @Test func `while a page of a large directory comes the next one is asked for, and no more`() async throws {
    let (fixture, names) = try large()
    fixture.store.closeGate()
    let listing = Task { await fixture.list("") }
    // Of the flat page it is not known where to go on.
    for asked in [1, 3, 5] {
      #expect(await eventually { fixture.store.asked("list") == asked })
      try await Task.sleep(for: .milliseconds(20))
      #expect(fixture.store.asked("list") == asked)
      fixture.store.stepGate()
    }
    fixture.store.openGate()
    #expect(await listing.value == .success(names))
    #expect(fixture.store.takeLog().count == 5)
    await fixture.close()
  }

  @Test func `what a page says before its keys counts for nothing when its end says another thing`() async throws {
    let (fixture, names) = try large()
    fixture.store.tellInstead("k45")
    #expect(await fixture.list("") == .success(names))
    await fixture.close()
  }

  /// A directory of five pages.
  private func large() throws -> (MirrorFixture, [String]) {
    let names = (10..<60).map { "k\($0)" }
    let fixture = try MirrorFixture()
    fixture.store.setPageSize(10)
    for name in names { fixture.store.put(name, name) }
    return (fixture, names)
  }

  @Test func `a walk of twenty directories costs one page each at most`() async throws {
    let keys = (0..<20).flatMap { directory in (0..<10).map { "top/d\(directory)/f\($0)" } }
    let fixture = try MirrorFixture()
    fixture.store.setPageSize(50)
    for key in keys { fixture.store.put(key, key) }
    var count = 0
    for directory in try await fixture.list("top").get() {
      count += try await fixture.list("top/\(directory)").get().count
    }
    #expect(count == 200)
    #expect(fixture.store.takeLog().count <= 23)
    await fixture.close()
  }

  @Test func `a file shows when the directory vanishes that hid it`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/e", "file").put("d/e/f", "below")
    #expect(await fixture.list("d") == .success(["e"]))
    #expect(await fixture.list("d/e") == .success(["f"]))
    fixture.store.delete("d/e/f")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.list("d") == .success(["e"]))
    #expect(await fixture.read("d/e") == "file")
    #expect(fixture.mirror.hiddenKeys().isEmpty)
    await fixture.close()
  }

  @Test func `what was known before a first listing shows once that vouches for it`() async throws {
    let (fixture, names) = try large()
    for name in ["k11", "k30", "k58"] { #expect(await fixture.read(name) == name) }
    fixture.store.delete("k30")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.list("") == .success(names.filter { $0 != "k30" }))
    await fixture.close()
  }

  @Test func `a first listing that breaks off ends in an error, for whoever has read its beginning too`() async throws {
    let (fixture, _) = try large()
    fixture.store.closeGate()
    let opened = Task { () -> Result<OpenedDirectory, Errno> in
      await withCheckedContinuation { continuation in
        fixture.mirror.openDirectory(.root) { continuation.resume(returning: $0) }
      }
    }
    #expect(await eventually { fixture.store.asked("list") == 1 })
    fixture.store.stepGate()
    let handle = try await opened.value.get().handle
    #expect(await eventually { fixture.store.asked("list") > 1 })
    let first = await part(fixture, handle, 0)
    #expect(first.names.count == 10 && first.error == nil)
    fixture.store.fail(.serverError)
    fixture.store.openGate()
    #expect(await eventually { fixture.mirror.state.withLock { $0.listings.isEmpty } })
    var (offset, error, count) = (first.offset, Errno?.none, 0)
    while error == nil, count < 20 {
      let next = await part(fixture, handle, offset)
      (offset, error, count) = (next.offset, next.error, count + 1)
      if next.names.isEmpty { break }
    }
    #expect(error == .inputOutput)
    await fixture.close()
  }

  private func part(_ fixture: MirrorFixture, _ handle: UInt64, _ offset: UInt64) async -> (
    names: [String], offset: UInt64, error: Errno?
  ) {
    let part: Collector = await withCheckedContinuation { continuation in
      let collector = Collector { continuation.resume(returning: $0) }
      fixture.mirror.readDirectory(.root, handle: handle, offset: offset, plus: false, into: collector)
    }
    return part.state.withLock { $0 }
  }

  @Test func `a listing shows what came and what went`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/1", "1").put("d/2", "2").put("e/1", "1")
    #expect(await fixture.list("d") == .success(["1", "2"]))
    fixture.store.delete("d/1")
    fixture.store.delete("e/1")
    fixture.store.put("d/3", "3")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.list("d") == .success(["2", "3"]))
    #expect(try await fixture.list("").get() == ["d"])
    #expect(await fixture.errno("d/1") == .noEntry)
    await fixture.close()
  }

  @Test func `names in the catalogue that no file can have are passed over`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/ok", "content").put("d/e/f", "more")
    #expect(await fixture.read("d/ok") == "content")
    #expect(await fixture.list("d/e") == .success(["f"]))
    let catalogue = fixture.cache.catalogue
    let revision = ObjectRevision(etag: EntityTag("\"t\""), size: 1, modified: 0)
    for name in ["", ".", "..", "a\0b", String(repeating: "n", count: 256)] {
      let key = "d/\(name)"
      catalogue.record(.object(ObjectKey(key), revision, storageClass: nil, validated: fixture.clock.wall()))
      catalogue.record(.directory(ObjectKey(key + "/"), listed: fixture.clock.wall()))
    }
    await fixture.close()

    let again = try MirrorFixture(in: fixture.directory, memory: fixture.store, clock: fixture.clock)
    fixture.store.fail(.unreachable)
    #expect(await again.list("d") == .success(["e", "ok"]))
    #expect(await again.read("d/ok") == "content")
    await again.close()
  }
}
