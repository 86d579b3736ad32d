// Bytes whose end proves them wrong after they were shown.
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct DamageTests {
  @Test func `bytes that were shown and turn out damaged are taken back, from the kernel too`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "content")
    _ = await fixture.list("")
    let kernel = Kernel()
    fixture.mirror.attach(kernel)
    let node = try #require(await fixture.node("f"))
    fixture.store.damage(1)
    #expect(await fixture.read(node) == .success(Array("bontent".utf8)), "nothing told that it would be proven")
    #expect(await becomes([node.node]) { kernel.forgotten.withLock { $0 } })
    #expect(await fixture.read(node) == .success(Array("content".utf8)))
    #expect(await fixture.read("f") == "content")
    await fixture.close()
    let again = try MirrorFixture(in: fixture.directory, memory: fixture.store, clock: fixture.clock)
    again.store.fail(.unreachable)
    #expect(await again.read("f") == "content")
    await again.close()
  }

  private static let large = String(repeating: "content ", count: 1 << 16)

  /// A file whose look-up brings its beginning, and the rest a reader.
  private func fixtureOfLarge() async throws -> (MirrorFixture, NodeAttributes) {
    let fixture = try MirrorFixture()
    fixture.store.proveAtEnd()
    fixture.store.put("f", Self.large)
    // Then nothing of it comes by the look-up.
    _ = await fixture.list("")
    return (fixture, try #require(await fixture.node("f")))
  }

  @Test func `what its end was to prove is shown to nobody when it breaks off for good`() async throws {
    let (fixture, node) = try await fixtureOfLarge()
    fixture.store.breakOff(100)
    #expect(await fixture.read(node) == .failure(.inputOutput))
    fixture.store.breakOff(0)
    fixture.clock.advance(.seconds(2))
    #expect(await fixture.read(node) == .success(Array(Self.large.utf8)))
    await fixture.close()
  }

  @Test func `what broke off is asked for once more when its rest proves nothing of it`() async throws {
    let (fixture, node) = try await fixtureOfLarge()
    _ = fixture.store.takeLog()
    fixture.store.breakOff(1, forgettingProof: true)
    #expect(await fixture.read(node) == .success(Array(Self.large.utf8)))
    #expect(fixture.store.takeLog() == ["get f if-match", "get f 262144-524288 if-match", "get f if-match"])
    await fixture.close()
  }

  @Test func `a reader of what a look-up brings is served though it breaks off`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "old")
    #expect(await fixture.read("f") == "old")
    fixture.store.put("f", Self.large)
    fixture.clock.advance(.seconds(61))
    fixture.store.breakOff(1)
    fixture.store.ends.close()
    _ = fixture.store.takeLog()
    let node = try #require(await fixture.node("f"))
    async let answer = fixture.read(node)
    try await Task.sleep(for: .milliseconds(50))
    fixture.store.ends.open()
    guard case .success(let bytes) = await answer else {
      Issue.record("not served")
      return
    }
    #expect(bytes.count == Self.large.utf8.count)
    #expect(
      fixture.store.takeLog().sorted() == [
        "get f 0-262144 if-none-match", "get f 131072-262144 if-match", "get f 262144-524288 if-match",
      ])
    await fixture.close()
  }
}

/// Files whose pages the kernel was told to forget.
private final class Kernel: KernelNotices {
  let forgotten = Mutex<[NodeID]>([])
  func expire(_ name: [UInt8], in parent: NodeID) {}
  func invalidate(_ name: [UInt8], in parent: NodeID) {}
  func forgetContent(of node: NodeID) { forgotten.withLock { $0.append(node) } }
}
