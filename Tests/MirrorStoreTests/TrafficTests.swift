import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TrafficTests {
  let clock = ManualClock()

  @Test func `what is under way is seen with its progress, and an answer is timed to its head`() async throws {
    let traffic = OriginTraffic(clock: clock)
    let seen = Mutex<[RequestUnderWay]>([])
    let store = MeasuredStore(
      SlowStore(clock: clock) { seen.withLock { $0 += traffic.report.underWay } }, traffic: traffic)
    _ = try await store.get(GetRequest(key: ObjectKey("k")), into: UnheededSink())
    let found = seen.withLock { $0 }
    #expect(found.map(\.key) == [ObjectKey("k"), ObjectKey("k"), ObjectKey("k")])
    #expect(found.map(\.expected) == [nil, 10, 10] && found.map(\.received) == [0, 0, 4])
    #expect(traffic.report.underWay == [])
    let waits = try #require(traffic.report.waits[.get])
    #expect(waits.count == 1 && waits.counts[WaitHistogram.bounds.firstIndex(of: 0.05) ?? 0] == 1)
  }

  @Test func `a refusal is an answer, and silence is none`() async {
    let traffic = OriginTraffic(clock: clock)
    for (code, status) in [(StoreError.Code.notFound, 404), (.unreachable, 0), (.serverError, 503)] {
      let store = MeasuredStore(FailedStore(code, status), traffic: traffic)
      await #expect(throws: StoreError.self) { try await store.head(HeadRequest(key: ObjectKey("k"))) }
    }
    #expect(traffic.report.waits[.head]?.count == 2)
    #expect(traffic.report.underWay == [])
  }

  @Test func `attempts after the first are retries`() async {
    let traffic = OriginTraffic(clock: clock)
    let store = RetryingStore(
      FailedStore(.timeout, 0), policy: RetryPolicy(maximumAttempts: 3), clock: clock, traffic: traffic,
      sleep: { _ in }, random: { 0 })
    await #expect(throws: StoreError.self) { try await store.head(HeadRequest(key: ObjectKey("k"))) }
    #expect(traffic.report.retries == 2)
  }
}

private final class UnheededSink: ObjectSink {
  func begin(_ head: ObjectHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { true }
}

/// Answers a GET of ten bytes in steps, and has each of them looked at.
private struct SlowStore: ObjectStore {
  let clock: ManualClock
  let look: @Sendable () -> Void

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    clock.advance(.milliseconds(30))
    look()
    let revision = ObjectRevision(etag: nil, size: 10, modified: nil)
    let head = ObjectHead(metadata: ObjectMetadata(revision: revision), start: 0, end: 10)
    _ = sink.begin(head)
    clock.advance(.seconds(1))
    look()
    let bytes: [UInt8] = [1, 2, 3, 4]
    _ = sink.receive(bytes.span.bytes)
    look()
    return .delivered(head)
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { throw unused }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage { throw unused }
  func probe(deadline: Instant?) async throws(StoreError) { throw unused }
  private var unused: StoreError { StoreError(.invalidRequest, operation: "", subject: "", message: "") }
}

private struct FailedStore: ObjectStore {
  private let error: StoreError
  init(_ code: StoreError.Code, _ status: Int) {
    error = StoreError(code, operation: "HeadObject", subject: "k", status: status, message: "failed")
  }
  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome { throw error }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { throw error }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage { throw error }
  func probe(deadline: Instant?) async throws(StoreError) { throw error }
}
