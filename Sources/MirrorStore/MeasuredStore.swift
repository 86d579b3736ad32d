// Shows each attempt to the traffic's watch as it passes; it stands below the retries.
public import MirrorPlatform
import Synchronization

public struct MeasuredStore: ObjectStore {
  private let store: any ObjectStore
  private let traffic: OriginTraffic

  public init(_ store: any ObjectStore, traffic: OriginTraffic) {
    self.store = store
    self.traffic = traffic
  }

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    try await passing(.get, request.key) { (passage) throws(StoreError) in
      try await store.get(request, into: MeasuredSink(sink, passage, traffic))
    }
  }

  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await passing(.head, request.key) { (_) throws(StoreError) in try await store.head(request) }
  }

  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try await passing(.list, request.prefix) { (_) throws(StoreError) in try await store.list(request) }
  }

  public func probe(deadline: Instant?) async throws(StoreError) {
    try await passing(.head, ObjectKey([])) { (_) throws(StoreError) in try await store.probe(deadline: deadline) }
  }

  private func passing<Answer>(
    _ kind: RequestKind, _ key: ObjectKey, _ body: (OriginTraffic.Passage) async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let passage = traffic.begin(kind, key)
    defer { traffic.end(passage) }
    do throws(StoreError) {
      let answer = try await body(passage)
      traffic.answered(passage)
      return answer
    } catch {
      if error.status != 0 { traffic.answered(passage) }
      throw error
    }
  }
}

/// Counts a body as it passes.
private final class MeasuredSink: ObjectSink {
  private let sink: any ObjectSink
  private let passage: OriginTraffic.Passage
  private let traffic: OriginTraffic

  init(_ sink: any ObjectSink, _ passage: OriginTraffic.Passage, _ traffic: OriginTraffic) {
    self.sink = sink
    self.passage = passage
    self.traffic = traffic
  }

  func begin(_ head: ObjectHead) -> Bool {
    traffic.answered(passage)
    passage.expected.store(head.end - head.start, ordering: .relaxed)
    passage.received.store(0, ordering: .relaxed)
    return sink.begin(head)
  }

  func receive(_ bytes: RawSpan) -> Bool {
    passage.received.add(Int64(bytes.byteCount), ordering: .relaxed)
    return sink.receive(bytes)
  }
}
