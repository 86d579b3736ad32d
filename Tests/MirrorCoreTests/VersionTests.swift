// A replaced object is read to its end by whoever has it open, where the bucket keeps versions.
import MirrorCore
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct VersionTests {
  private static let size = 4 << 20
  private let old = String(repeating: "old!", count: size / 4)
  private let fixture: MirrorFixture

  init() throws {
    fixture = try MirrorFixture(partSize: 1 << 20)
    fixture.store.keepVersions()
  }

  /// Bytes of a node that is known already.
  private func read(_ node: NodeAttributes, at offset: Int64, of fixture: MirrorFixture? = nil) async -> Result<
    String, Errno
  > {
    let mirror = (fixture ?? self.fixture).mirror
    let answer: ReadAnswer = await withCheckedContinuation { continuation in
      mirror.read(node.node, offset: offset, count: 4) { continuation.resume(returning: $0) }
    }
    switch answer {
    case .bytes(let bytes): return .success(String(decoding: bytes, as: UTF8.self))
    case .failed(let errno): return .failure(errno)
    case .extent(let file, let offset, let count):
      do { return .success(String(decoding: try file.read(at: offset, count: count), as: UTF8.self)) } catch {
        return .failure(error)
      }
    }
  }

  private func asked(_ store: MemoryStore) -> [String] { store.takeLog().filter { $0.hasPrefix("get f@") } }

  @Test(arguments: [true, false])
  func `an open file is read to its end after it was replaced or deleted`(isDeleted: Bool) async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await read(node, at: 0) == .success("old!"))
    if isDeleted { fixture.store.delete("f") } else { fixture.store.put("f", "new") }
    _ = fixture.store.takeLog()
    #expect(await read(node, at: Int64(Self.size) - 4) == .success("old!"))
    // It is asked for what is current once, and from then on by its version.
    #expect(await read(node, at: Int64(Self.size) / 2) == .success("old!"))
    let log = fixture.store.takeLog()
    #expect(log.count { $0.hasPrefix("get f ") } == 1)
    #expect(log.contains { $0.hasPrefix("get f@v1 ") })
    // Whoever looks now sees what is there now.
    #expect(await fixture.read("f") == (isDeleted ? nil : "new"))
    #expect(await read(node, at: Int64(Self.size) / 4) == .success("old!"))
    await fixture.close()
  }

  @Test func `a name that was found to lead elsewhere costs its readers no failed request`() async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await read(node, at: 0) == .success("old!"))
    fixture.store.put("f", "new")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.read("f") == "new")
    _ = fixture.store.takeLog()
    #expect(await read(node, at: Int64(Self.size) - 4) == .success("old!"))
    #expect(fixture.store.takeLog().allSatisfy { $0.hasPrefix("get f@v1 ") })
    await fixture.close()
  }

  @Test func `where versions may not be asked for, what is gone is gone, and that is asked once`() async throws {
    fixture.store.denyVersions()
    for name in ["f", "g"] { fixture.store.put(name, old) }
    for name in ["f", "g"] {
      let node = try #require(await fixture.node(name))
      #expect(await read(node, at: 0) == .success("old!"))
      fixture.store.put(name, "new")
      #expect(await read(node, at: Int64(Self.size) - 4) == .failure(.stale))
    }
    #expect(fixture.store.takeLog().count { $0.contains("@") } == 1)
    await fixture.close()
  }

  @Test func `a version that no answer named is looked for, where it is known that there are any`() async throws {
    for name in ["f", "g"] { fixture.store.put(name, old) }
    // Known by a listing alone, as to anyone who has just opened it.
    _ = await fixture.list("")
    let node = try #require(await fixture.node("f"))
    let other = try #require(await fixture.node("g"))
    #expect(await read(other, at: 0) == .success("old!"))
    fixture.store.put("f", "new")
    _ = fixture.store.takeLog()
    #expect(await read(node, at: 0) == .success("old!"))
    #expect(await read(node, at: Int64(Self.size) - 4) == .success("old!"))
    let log = fixture.store.takeLog()
    #expect(log.count { $0 == "versions f" } == 1)
    #expect(log.contains { $0.hasPrefix("get f@v1") })
    await fixture.close()
  }

  @Test func `a bucket that never named a version is not asked for any`() async throws {
    let plain = try MirrorFixture(partSize: 1 << 20)
    plain.store.put("f", old)
    _ = await plain.list("")
    let node = try #require(await plain.node("f"))
    plain.store.put("f", "new")
    #expect(await read(node, at: 0, of: plain) == .failure(.stale))
    #expect(plain.store.asked("versions") == 0)
    await plain.close()
  }

  @Test func `what is asked by its version says nothing of what is current`() async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await read(node, at: 0) == .success("old!"))
    fixture.store.put("f", "new")
    #expect(await read(node, at: 3 << 20) == .success("old!"))
    // It is brought back, and replaced once more.
    fixture.store.change("f") { object in
      object.tag = "\"tag-1\""
      object.body = Array(old.utf8)
      object.version = "v1"
    }
    #expect(await fixture.node("f")?.size == Int64(Self.size))
    fixture.store.put("f", "newer")
    fixture.clock.advance(.seconds(61))
    #expect(await read(node, at: 2 << 20) == .success("old!"))
    #expect(await fixture.read("f") == "newer")
    await fixture.close()
  }

  @Test func `what is current again is asked for as that, whatever became of its version`() async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await read(node, at: 0) == .success("old!"))
    fixture.store.put("f", "new")
    #expect(await read(node, at: 3 << 20) == .success("old!"))
    fixture.store.expireVersions()
    fixture.store.change("f") { object in
      object.tag = "\"tag-1\""
      object.body = Array(old.utf8)
      object.version = "v3"
    }
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.node("f")?.node == node.node)
    #expect(await read(node, at: 2 << 20) == .success("old!"))
    await fixture.close()
  }

  @Test func `a version that is no longer kept is gone`() async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await read(node, at: 0) == .success("old!"))
    fixture.store.put("f", "new")
    fixture.store.expireVersions()
    #expect(await read(node, at: Int64(Self.size) - 4) == .failure(.stale))
    #expect(await read(node, at: 0) == .success("old!"))
    await fixture.close()
  }

  @Test func `the version is remembered over a restart, and told`() async throws {
    fixture.store.put("f", old)
    let first = try #require(await fixture.node("f"))
    #expect(await read(first, at: 0) == .success("old!"))
    #expect(fixture.mirror.extendedAttribute("user.s3.version-id", of: first.node) == .success(Array("v1".utf8)))
    await fixture.close()
    let again = try MirrorFixture(
      in: fixture.directory, memory: fixture.store, clock: fixture.clock, partSize: 1 << 20)
    let node = try #require(await again.node("f"))
    #expect(again.mirror.extendedAttribute("user.s3.version-id", of: node.node) == .success(Array("v1".utf8)))
    fixture.store.put("f", "new")
    #expect(await read(node, at: Int64(Self.size) - 4, of: again) == .success("old!"))
    #expect(asked(fixture.store).isEmpty == false)
    await again.close()
  }
}
