// Pages that hold nothing and go on.
import MirrorPlatform
import Synchronization
import TestSupport
import Testing

@testable import MirrorStore

@Suite(.timeLimit(.minutes(1))) struct FilledPagesTests {
  /// Each place leads to the next, the last one to what there is.
  private final class Pages: ObjectStore {
    let asked = Mutex<[ListRequest]>([])
    let ends: Int
    let isCircle: Bool
    private let clock: ManualClock

    init(ends: Int, isCircle: Bool = false, clock: ManualClock) {
      (self.ends, self.isCircle, self.clock) = (ends, isCircle, clock)
    }

    func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
      asked.withLock { $0.append(request) }
      clock.advance(.seconds(2))
      let place = request.continuation.flatMap { Int($0) } ?? 0
      if place < ends { return ListPage(objects: [], prefixes: [], next: "\(isCircle ? (place + 1) % 2 : place + 1)") }
      let revision = ObjectRevision(etag: nil, size: 1, modified: nil)
      return ListPage(objects: [ListedObject(key: ObjectKey("k"), revision: revision)], prefixes: [], next: nil)
    }
    func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome { .ended }
    func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { throw fault }
    func probe(deadline: Instant?) async throws(StoreError) { throw fault }
    private let fault = StoreError(.notFound, operation: "Test", subject: "", message: "")
  }

  private let clock = ManualClock()

  private func request() -> ListRequest {
    ListRequest(prefix: ObjectKey("p"), delimited: false, deadline: clock.now() + .seconds(5))
  }

  @Test func `they are followed to what they lead to, each with the whole time`() async throws {
    let pages = Pages(ends: 4, clock: clock)
    let page = try await FilledPages(pages, clock: clock).list(request())
    #expect(page.objects.map(\.key) == [ObjectKey("k")] && page.next == nil)
    let asked = pages.asked.withLock { $0 }
    #expect(asked.map(\.continuation) == [nil, "1", "2", "3", "4"])
    for (number, request) in asked.enumerated() {
      #expect(request.deadline == Instant(nanoseconds: clock.now().nanoseconds) + .seconds(2 * (number - 5) + 5))
    }
  }

  @Test func `who is told where each page leads follows by himself`() async throws {
    let pages = Pages(ends: 4, clock: clock)
    var request = request()
    request.onNext = { _ in }
    #expect(try await FilledPages(pages, clock: clock).list(request).next == "1")
    #expect(pages.asked.withLock { $0.count } == 1)
  }

  @Test(arguments: [true, false])
  func `those that never end are an error`(isCircle: Bool) async throws {
    let pages = Pages(ends: .max, isCircle: isCircle, clock: clock)
    await #expect(throws: StoreError.self) { try await FilledPages(pages, clock: clock).list(request()) }
    #expect(pages.asked.withLock { $0.count } <= FilledPages.most + 1)
  }
}
