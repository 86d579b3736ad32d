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
}

/// Files whose pages the kernel was told to forget.
private final class Kernel: KernelNotices {
  let forgotten = Mutex<[NodeID]>([])
  func expire(_ name: [UInt8], in parent: NodeID) {}
  func invalidate(_ name: [UInt8], in parent: NodeID) {}
  func forgetContent(of node: NodeID) { forgotten.withLock { $0.append(node) } }
}
