// Asks again where the policy allows; a body that has begun is never begun twice.
public import MirrorPlatform
import Synchronization

/// Retries whole requests; one whose sink has begun fails with `interrupted`, and its reader asks for the rest.
public struct RetryingStore: ObjectStore {
  private let store: any ObjectStore
  private let policy: RetryPolicy
  private let quota = RetryQuota()
  private let traffic: OriginTraffic?
  private let clock: any Clock
  private let sleep: @Sendable (Duration) async -> Void
  private let random: @Sendable () -> Double

  public init(
    _ store: any ObjectStore, policy: RetryPolicy = RetryPolicy(), clock: any Clock = SystemClock(),
    traffic: OriginTraffic? = nil,
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.store = store
    self.policy = policy
    self.clock = clock
    self.traffic = traffic
    self.sleep = sleep
    self.random = random
  }

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    let guarded = BegunSink(sink)
    return try await attempts(until: request.deadline, mayRetry: { !guarded.hasBegun }) { () throws(StoreError) in
      try await store.get(request, into: guarded)
    }
  }

  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await attempts(until: request.deadline) { () throws(StoreError) in try await store.head(request) }
  }

  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try await attempts(until: request.deadline) { () throws(StoreError) in try await store.list(request) }
  }

  /// Not retried: whoever probes repeats it at a pace of its own.
  public func probe(deadline: Instant?) async throws(StoreError) { try await store.probe(deadline: deadline) }

  private func attempts<Answer>(
    until deadline: Instant?, mayRetry: () -> Bool = { true }, _ body: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    var attempt = 1
    while true {
      do throws(StoreError) {
        let answer = try await body()
        quota.repay(retried: attempt > 1)
        return answer
      } catch {
        guard mayRetry(), !Task.isCancelled, let pause = policy.delay(after: error, attempt: attempt, random: random()),
          deadline.map({ clock.now() + pause < $0 }) ?? true, quota.take(for: error)
        else { throw error }
        await sleep(pause)
        traffic?.noteRetry()
        attempt += 1
      }
    }
  }
}

/// Remembers whether a body has begun.
private final class BegunSink: ObjectSink {
  private let sink: any ObjectSink
  private let begun = Atomic(false)
  init(_ sink: any ObjectSink) { self.sink = sink }

  var hasBegun: Bool { begun.load(ordering: .acquiring) }
  func begin(_ head: ObjectHead) -> Bool {
    begun.store(true, ordering: .releasing)
    return sink.begin(head)
  }
  func receive(_ bytes: RawSpan) -> Bool { sink.receive(bytes) }
}
