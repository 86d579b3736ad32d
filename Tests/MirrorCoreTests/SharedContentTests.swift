// One revision, used by several at once: what one has asked for is everybody's, and nobody sees what is not proven.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SharedContentTests {
  private static let size = 4 << 20
  private let old = String(repeating: "old!", count: size / 4)
  private let fixture: MirrorFixture

  init() throws { fixture = try MirrorFixture(partSize: 1 << 20) }

  /// What four bytes were answered with, once they are.
  private final class Answer: Sendable {
    let text = Mutex<String?>(nil)

    init(_ tree: any FileTree, _ node: NodeAttributes, at offset: Int64) {
      tree.read(node.node, offset: offset, count: 4) { answer in
        let told: String
        switch answer {
        case .bytes(let bytes): told = String(decoding: bytes, as: UTF8.self)
        case .failed(let errno): told = "\(errno)"
        case .extent(let file, let offset, let count):
          told = (try? file.read(at: offset, count: count)).map { String(decoding: $0, as: UTF8.self) } ?? "unreadable"
        }
        self.text.withLock { $0 = told }
      }
    }

    func becomes(_ value: String) async -> Bool { await MirrorCoreTests.becomes(value) { self.text.withLock { $0 } } }
  }

  /// Another object takes the name.
  private func replace() async {
    fixture.store.put("f", "new")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.read("f") == "new")
  }

  /// The first comes back, and its name is looked up again.
  private func restore() async -> NodeAttributes? {
    restoreObject()
    fixture.clock.advance(.seconds(61))
    return await fixture.node("f")
  }

  private func restoreObject() {
    fixture.store.change("f") { object in
      object.tag = "\"tag-1\""
      object.body = Array(old.utf8)
      object.modified += 1
    }
  }

  enum Users: CaseIterable { case formerFirst, currentFirst, bothFormer }

  // A file that is rolled back while those who had it open still read it.
  @Test(arguments: Users.allCases)
  func `what is on its way for one reader of a revision is there for the other`(users: Users) async throws {
    fixture.store.put("f", old)
    let former = try #require(await fixture.node("f"))
    #expect(await Answer(fixture.mirror, former, at: 0).becomes("old!"))
    // By its row the copy is found, whoever looks for it.
    await fixture.cache.catalogue.flush()
    await replace()
    // Its content lives on with whoever has it open.
    #expect(await Answer(fixture.mirror, former, at: 0).becomes("old!"))
    let current = try #require(await restore())
    #expect(former.node != current.node)
    #expect(await Answer(fixture.mirror, current, at: 0).becomes("old!"))
    if users == .bothFormer { await replace() }
    fixture.store.closeGate()
    _ = fixture.store.takeLog()
    let pair = users == .currentFirst ? [current, former] : [former, current]
    let offset = Int64(3 << 20)
    let first = Answer(fixture.mirror, pair[0], at: offset)
    #expect(await becomes(true) { fixture.store.asked("get f") > 0 })
    let second = Answer(fixture.mirror, pair[1], at: offset)
    if users == .bothFormer {
      // As a bucket that keeps no versions can: the old bytes are back by the time that it answers.
      fixture.store.change("f") { object in
        object.tag = "\"tag-1\""
        object.body = Array(old.utf8)
      }
    }
    fixture.store.openGate()
    #expect(await first.becomes("old!"))
    #expect(await second.becomes("old!"))
    #expect(fixture.store.asked("get f") == 1, "each byte is asked for once")
    await fixture.close()
  }

  @Test func `a copy that is current again is kept when its last reader has gone`() async throws {
    fixture.store.put("f", "content")
    let former = try #require(await fixture.node("f"))
    #expect(await fixture.read("f") == "content")
    await replace()
    #expect(await Answer(fixture.mirror, former, at: 0).becomes("cont"))
    fixture.store.change("f") { object in
      object.tag = "\"tag-1\""
      object.body = Array("content".utf8)
    }
    fixture.clock.advance(.seconds(61))
    let current = try #require(await fixture.node("f"))
    #expect(await fixture.read("f") == "content")
    for node in [former, current] { fixture.mirror.forget(node.node, count: .max) }
    await fixture.cache.catalogue.flush()
    _ = fixture.store.takeLog()
    #expect(await fixture.read("f") == "content")
    #expect(fixture.store.asked("get") == 0)
    await fixture.close()
  }

  @Test func `what is on its way for a file that was forgotten and replaced keeps nobody waiting`() async throws {
    fixture.store.proveAtEnd()
    fixture.store.put("f", old)
    let former = try #require(await fixture.node("f"))
    #expect(await Answer(fixture.mirror, former, at: 0).becomes("old!"))
    await fixture.cache.catalogue.flush()
    fixture.store.ends.close()
    let offset = Int64(3 << 20)
    let first = Answer(fixture.mirror, former, at: offset)
    #expect(await becomes(true) { fixture.store.asked("get f \(offset)") > 0 })
    fixture.mirror.forget(former.node, count: .max)
    fixture.store.put("f", "new")
    fixture.clock.advance(.seconds(61))
    #expect(await fixture.node("f")?.size == 3)
    // By a listing: a look-up would bring a body, to a copy of its own.
    restoreObject()
    fixture.clock.advance(.seconds(61))
    _ = await fixture.list("")
    let current = try #require(await fixture.node("f"))
    let second = Answer(fixture.mirror, current, at: offset)
    #expect(await becomes(2) { fixture.store.asked("get f \(offset)") })
    fixture.store.ends.open()
    #expect(await second.becomes("old!"))
    #expect(await first.becomes("old!"))
    await fixture.close()
  }

  @Test func `what is forgotten while some of it is on its way is held no longer than that`() async throws {
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await Answer(fixture.mirror, node, at: 0).becomes("old!"))
    fixture.store.closeGate()
    let answer = Answer(fixture.mirror, node, at: 3 << 20)
    #expect(await becomes(true) { fixture.store.asked("get f \(3 << 20)") > 0 })
    fixture.mirror.forget(node.node, count: .max)
    #expect(fixture.cache.usage().retained == 1)
    fixture.store.openGate()
    #expect(await answer.becomes("old!"))
    #expect(await becomes(0) { fixture.cache.usage().retained })
    await fixture.close()
  }

  @Test(arguments: [false, true])
  func `a program that may ask for nothing is not shown what is yet to be proven`(isDamaged: Bool) async throws {
    fixture.store.proveAtEnd()
    fixture.store.put("f", old)
    let node = try #require(await fixture.node("f"))
    #expect(await Answer(fixture.mirror, node, at: 0).becomes("old!"))
    // Its row says that there is a copy.
    await fixture.cache.catalogue.flush()
    let quiet = QuietView(of: fixture.mirror)
    let offset = Int64(3 << 20)
    fixture.store.ends.close()
    if isDamaged { fixture.store.damage(1) }
    let reader = Answer(fixture.mirror, node, at: offset)
    #expect(await becomes(true) { fixture.store.asked("get f \(offset)") > 0 })
    for _ in 0..<20 { #expect(await Answer(quiet, node, at: offset).becomes("\(Errno.accessDenied)")) }
    #expect(reader.text.withLock { $0 } == nil)
    fixture.store.ends.open()
    #expect(await reader.becomes("old!"))
    #expect(await Answer(quiet, node, at: offset).becomes("old!"))
    await fixture.close()
  }
}
