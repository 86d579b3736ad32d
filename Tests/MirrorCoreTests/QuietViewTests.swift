// What a program sees for which no request may be sent.
import MirrorCore
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct QuietViewTests {
  /// A program that looks through the quiet view.
  private struct Crawler {
    let view: QuietView
    init(_ fixture: MirrorFixture) { view = QuietView(of: fixture.mirror) }

    func lookUp(_ path: String) async -> LookupAnswer { await view.lookUp(path) }

    func errno(_ path: String) async -> Errno? {
      switch await lookUp(path) {
      case .absent: .noEntry
      case .failed(let errno): errno
      case .found: nil
      }
    }

    func read(_ path: String) async -> Result<String, Errno> {
      guard case .found(let entry) = await lookUp(path) else { return .failure(.noEntry) }
      let attributes = entry.attributes
      let answer: ReadAnswer = await withCheckedContinuation { continuation in
        view.read(attributes.node, offset: 0, count: Int(attributes.size)) { continuation.resume(returning: $0) }
      }
      switch answer {
      case .bytes(let bytes): return .success(String(decoding: bytes, as: UTF8.self))
      case .failed(let errno): return .failure(errno)
      case .extent(let file, let offset, let count):
        return (try? file.read(at: offset, count: count)).map { .success(String(decoding: $0, as: UTF8.self)) }
          ?? .failure(.inputOutput)
      }
    }

    func list(_ path: String) async -> Result<[String], Errno> {
      var node = NodeID.root
      if !path.isEmpty {
        guard case .found(let entry) = await lookUp(path) else { return .failure(.noEntry) }
        node = entry.attributes.node
      }
      let directory = node
      let opened: Result<OpenedDirectory, Errno> = await withCheckedContinuation { continuation in
        view.openDirectory(directory) { continuation.resume(returning: $0) }
      }
      guard case .success(let handle) = opened.map(\.handle) else { return .failure(.inputOutput) }
      defer { view.closeDirectory(directory, handle: handle) }
      let part: Collector = await withCheckedContinuation { continuation in
        let collector = Collector { continuation.resume(returning: $0) }
        view.readDirectory(directory, handle: handle, offset: 0, plus: true, into: collector)
      }
      let (names, _, error) = part.state.withLock { $0 }
      return error.map { .failure($0) } ?? .success(names.sorted())
    }
  }

  @Test func `whatever a quiet program does, nothing is asked`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/read", "read before").put("d/listed", "never read").put("e/x", "elsewhere")
    let crawler = Crawler(fixture)
    #expect(await crawler.list("") == .success([]), "nothing is known yet")
    #expect(await crawler.errno("d") == .accessDenied, "and nothing is said to be absent")
    #expect(fixture.store.takeLog() == [])
    #expect(await fixture.read("d/read") == "read before")
    #expect(await fixture.list("d") == .success(["listed", "read"]))
    _ = fixture.store.takeLog()
    for age in [Duration.zero, .seconds(3600)] {
      fixture.clock.advance(age)
      #expect(await crawler.list("d") == .success(["listed", "read"]))
      #expect(await crawler.read("d/read") == .success("read before"))
      #expect(await crawler.read("d/listed") == .failure(.accessDenied), "its name is known, its bytes are not")
      #expect(await crawler.errno("d/none") == .noEntry, "the listing did not have it")
      #expect(await crawler.errno("unknown") == .accessDenied)
    }
    #expect(fixture.store.takeLog() == [])
    await fixture.close()
  }

  @Test func `what a quiet program is told is not kept for others`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("f", "old")
    #expect(await fixture.read("f") == "old")
    fixture.store.put("f", "new").put("g", "there now")
    fixture.clock.advance(.seconds(61))
    let crawler = Crawler(fixture)
    guard case .found(let entry) = await crawler.lookUp("f") else { throw StoreFailure() }
    #expect(entry.entryTimeout == .zero)
    #expect(await crawler.read("f") == .success("old"))
    if case .absent(let timeout) = await crawler.lookUp("g") { #expect(timeout == .zero) }
    #expect(fixture.mirror.status().served.stale > 0)
    #expect(await fixture.read("f") == "new")
    #expect(await fixture.read("g") == "there now")
    #expect(await crawler.read("f") == .success("new"))
    await fixture.close()
  }

  private struct StoreFailure: Error {}

  @Test func `after a restart the catalogue and the cache are known`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/f", "kept")
    #expect(await fixture.list("d") == .success(["f"]))
    #expect(await fixture.read("d/f") == "kept")
    await fixture.close()
    let again = try MirrorFixture(in: fixture.directory)
    let crawler = Crawler(again)
    #expect(await crawler.read("d/f") == .success("kept"))
    #expect(await crawler.list("d") == .success(["f"]))
    #expect(again.store.takeLog() == [])
    await again.close()
  }

  @Test func `a quiet program does not wait for what others ask`() async throws {
    let fixture = try MirrorFixture()
    fixture.store.put("d/f", "slow")
    fixture.store.closeGate()
    async let other = fixture.list("")
    #expect(await becomes(true) { !fixture.store.takeLog().isEmpty })
    let crawler = Crawler(fixture)
    #expect(await crawler.list("") == .success([]))
    #expect(await crawler.errno("d") == .accessDenied)
    fixture.store.openGate()
    #expect(await other == .success(["d"]))
    await fixture.close()
  }
}
