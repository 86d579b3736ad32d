// What somebody tells counts for more than answers to questions that were asked before.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1)))
struct TellingTests {
  private let fixture: MirrorFixture

  init() throws {
    // News are not told twice in these.
    fixture = try MirrorFixture(
      FreshnessRules(default: .seconds(60)), sleep: { _ in try? await Task.sleep(for: .seconds(3600)) })
    fixture.store.put("d/f", "old").put("d/g", "other")
  }

  enum Teller: CaseIterable { case news, refresh, refreshOfAll }

  private func tell(_ teller: Teller) async {
    switch teller {
    case .news: await fixture.mirror.heed(KeyChange(ObjectKey("d/f")))
    case .refresh: _ = await fixture.mirror.refresh(Array("d/f".utf8))
    case .refreshOfAll: _ = await fixture.mirror.refresh([])
    }
  }

  /// A question whose answer comes after somebody has told, and before the object changes.
  private func ask(_ teller: Teller, _ question: @escaping @Sendable (MirrorFixture) async -> Void) async {
    fixture.clock.advance(.seconds(61))
    fixture.store.closeGate()
    _ = fixture.store.takeLog()
    let fixture = fixture
    let asking = Task { await question(fixture) }
    #expect(await becomes(true) { fixture.store.asked("") > 0 })
    fixture.clock.advance(.seconds(1))
    await tell(teller)
    fixture.store.openGate()
    await asking.value
    fixture.clock.advance(.seconds(1))
  }

  @Test(arguments: Teller.allCases)
  func `an answer that was asked for before it makes no file fresh, now or after a restart`(teller: Teller) async throws
  {
    #expect(await fixture.read("d/f") == "old")
    await ask(teller) { _ = await $0.node("d/f") }
    fixture.store.put("d/f", "new")
    #expect(await fixture.read("d/f") == "new")
    await ask(teller) { _ = await $0.node("d/f") }
    fixture.store.put("d/f", "newer")
    await fixture.close()
    let again = try MirrorFixture(in: fixture.directory, memory: fixture.store, clock: fixture.clock)
    #expect(await again.read("d/f") == "newer")
    await again.close()
  }

  @Test(arguments: [Teller.refreshOfAll])
  func `nor a listing`(teller: Teller) async throws {
    #expect(await fixture.list("d") == .success(["f", "g"]))
    await ask(teller) { _ = await $0.list("d") }
    fixture.store.put("d/h", "new")
    #expect(await fixture.list("d") == .success(["f", "g", "h"]))
    await fixture.close()
  }

  @Test func `a directory outlives a listing that was asked for before something came into it`() {
    func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
    let revision = ObjectRevision(etag: EntityTag("\"1\""), size: 1, modified: 1)
    for sighting in [Namespace.Sighting.object, .listing] {
      var names = Namespace(prefix: ObjectKey(""), rules: FreshnessRules())
      let outer = names.makeDirectory(0, Array("d".utf8)[...], vouched: at(1))
      let inner = names.makeDirectory(outer, Array("e".utf8)[...], vouched: at(1))
      let name = Array("f".utf8)
      names.setFile(inner, name[...], revision, storageClass: nil, vouched: at(1), by: .listing)
      names.setFile(inner, name[...], revision, storageClass: nil, vouched: at(3), by: sighting)
      if sighting == .listing { names.completeListing(inner, since: at(3), emptyMeansGone: false) }
      names.completeListing(0, since: at(2), emptyMeansGone: false)
      #expect(names.place(of: ObjectKey("d/e/f"))?.slot != nil, "\(sighting)")
      names.completeListing(0, since: at(4), emptyMeansGone: false)
      #expect(names.place(of: ObjectKey("d/e/f")) == nil)
    }
  }

  @Test func `what the catalogue remembers of a name is of no account once the name was seen to be gone`() async {
    let names = ["f", "g"].map { NameID(directory: 1, name: Array($0.utf8)) }
    var tree = Namespace(prefix: ObjectKey(""), rules: FreshnessRules())
    _ = tree.makeDirectory(0, Array("d".utf8)[...], vouched: .distantPast)
    #expect(names.allSatisfy { !tree.isRemembered($0) })
    let revision = ObjectRevision(etag: EntityTag("\"1\""), size: 1, modified: 1)
    tree.setFile(1, names[0].name[...], revision, storageClass: nil, vouched: .distantPast, by: .object)
    if let slot = tree.fileSlot(of: names[0]) { tree.removeFile(1, slot) }
    #expect(tree.isRemembered(names[0]) && !tree.isRemembered(names[1]))
    tree.completeListing(1, since: Instant(nanoseconds: 1), emptyMeansGone: false)
    #expect(tree.isRemembered(names[1]))
  }
}
