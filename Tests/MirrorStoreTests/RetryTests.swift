// Whether, when and how often a request is made again.
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

private func failure(_ code: StoreError.Code, retryAfter: Duration? = nil) -> StoreError {
  StoreError(code, operation: "GetObject", subject: "bucket/key", message: "test", retryAfter: retryAfter)
}

@Suite(.timeLimit(.minutes(1)))
struct `The retry policy` {
  static let retried: [StoreError.Code] = [
    .unreachable, .timeout, .throttled, .serverError, .malformedResponse, .interrupted,
  ]
  static let final: [StoreError.Code] = [
    .notFound, .noSuchBucket, .accessDenied, .archived, .preconditionFailed, .rangeNotSatisfiable, .invalidRequest,
    .tls,
    .checksumMismatch, .credentials, .clockSkew, .wrongRegion, .cancelled,
  ]
  let policy = RetryPolicy()

  @Test(arguments: retried) func `tries again what may pass`(_ code: StoreError.Code) {
    #expect(policy.delay(after: failure(code), attempt: 1, random: 0.5) != nil)
  }
  @Test(arguments: final) func `takes a definite answer as it is`(_ code: StoreError.Code) {
    #expect(policy.delay(after: failure(code), attempt: 1, random: 0.5) == nil)
  }

  @Test func `gives up after three attempts`() {
    #expect(policy.delay(after: failure(.timeout), attempt: 2, random: 0) != nil)
    #expect(policy.delay(after: failure(.timeout), attempt: 3, random: 0) == nil)
  }

  @Test func `waits a random part of a doubling time, up to a cap`() {
    let many = RetryPolicy(maximumAttempts: 100)
    #expect(many.delay(after: failure(.timeout), attempt: 1, random: 0) == .zero)
    #expect(many.delay(after: failure(.timeout), attempt: 1, random: 0.5) == .milliseconds(500))
    #expect(many.delay(after: failure(.timeout), attempt: 3, random: 0.5) == .seconds(2))
    #expect(many.delay(after: failure(.timeout), attempt: 60, random: 0.5) == .seconds(10))
  }

  @Test func `waits as long as the server asks, within the cap`() {
    #expect(policy.delay(after: failure(.throttled, retryAfter: .seconds(3)), attempt: 1, random: 0.1) == .seconds(3))
    #expect(
      policy.delay(after: failure(.throttled, retryAfter: .seconds(900)), attempt: 1, random: 0.1) == .seconds(20))
    #expect(policy.delay(after: failure(.throttled, retryAfter: .zero), attempt: 1, random: 0.5) == .milliseconds(500))
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `The retry quota` {
  @Test func `is spent by retries, timeouts at double price, and paid back by successes`() {
    let quota = RetryQuota(capacity: 20)
    #expect(quota.take(for: failure(.timeout)))
    #expect(quota.take(for: failure(.serverError)))
    #expect(quota.take(for: failure(.serverError)))
    #expect(!quota.take(for: failure(.serverError)))
    quota.repay(retried: true)
    #expect(quota.take(for: failure(.serverError)))
    for _ in 0..<4 { quota.repay(retried: false) }
    #expect(!quota.take(for: failure(.serverError)))
    quota.repay(retried: false)
    #expect(quota.take(for: failure(.serverError)))
  }

  @Test func `never grows past its capacity`() {
    let quota = RetryQuota(capacity: 5)
    for _ in 0..<10 { quota.repay(retried: true) }
    #expect(quota.take(for: failure(.serverError)))
    #expect(!quota.take(for: failure(.serverError)))
  }
}

/// A store that fails as told, then answers.
private final class ScriptedStore: ObjectStore {
  let failures: Mutex<[StoreError]>
  let calls = Atomic(0)
  /// Fails after the body has begun.
  let beginsFirst: Bool
  init(_ failures: [StoreError], beginsFirst: Bool = false) {
    self.failures = Mutex(failures)
    self.beginsFirst = beginsFirst
  }
  static let head = ObjectHead(
    metadata: ObjectMetadata(revision: ObjectRevision(etag: nil, size: 3, modified: 1)), start: 0, end: 3)

  private func step() throws(StoreError) {
    calls.add(1, ordering: .relaxed)
    if let failure = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw failure }
  }
  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    if beginsFirst { _ = sink.begin(Self.head) }
    try step()
    if !beginsFirst { _ = sink.begin(Self.head) }
    let bytes: [UInt8] = [1, 2, 3]
    _ = sink.receive(bytes.span.bytes)
    return .delivered(Self.head)
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try step()
    return Self.head.metadata
  }
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try step()
    return ListPage(objects: [], prefixes: [], next: nil)
  }
  func probe(deadline: Instant?) async throws(StoreError) { try step() }
}

private final class Collected: ObjectSink {
  let bytes = Mutex<[UInt8]>([])
  let begun = Atomic(0)
  func begin(_ head: ObjectHead) -> Bool {
    begun.add(1, ordering: .relaxed)
    return true
  }
  func receive(_ part: RawSpan) -> Bool {
    bytes.withLock { bytes in
      for index in part.byteOffsets { bytes.append(part.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
    }
    return true
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `A retrying store` {
  private final class Pauses: Sendable {
    let taken = Mutex<[Duration]>([])
  }
  private let pauses = Pauses()
  private let clock = ManualClock()

  private func retrying(_ store: ScriptedStore, attempts: Int = 3) -> RetryingStore {
    RetryingStore(
      store, policy: RetryPolicy(maximumAttempts: attempts), clock: clock,
      sleep: { [pauses, clock] pause in
        pauses.taken.withLock { $0.append(pause) }
        clock.advance(pause)
      }, random: { 0.5 })
  }
  private var taken: [Duration] { pauses.taken.withLock { $0 } }

  @Test func `asks again until it is answered`() async throws {
    let store = ScriptedStore([failure(.serverError), failure(.timeout)])
    _ = try await retrying(store).head(HeadRequest(key: ObjectKey("k")))
    #expect(store.calls.load(ordering: .relaxed) == 3)
    #expect(taken == [.milliseconds(500), .seconds(1)])
  }

  @Test func `gives up with the last failure`() async {
    let store = ScriptedStore([failure(.serverError), failure(.serverError), failure(.throttled)])
    let error = await #expect(throws: StoreError.self) {
      try await retrying(store).list(ListRequest(prefix: ObjectKey(""), delimited: true))
    }
    #expect(error?.code == .throttled)
    #expect(store.calls.load(ordering: .relaxed) == 3)
  }

  @Test func `takes no for an answer`() async {
    let store = ScriptedStore([failure(.notFound)])
    await #expect(throws: StoreError.self) { try await retrying(store).head(HeadRequest(key: ObjectKey("k"))) }
    #expect(store.calls.load(ordering: .relaxed) == 1)
    #expect(taken.isEmpty)
  }

  @Test func `a body that has begun is never begun twice`() async {
    let store = ScriptedStore([failure(.interrupted)], beginsFirst: true)
    let sink = Collected()
    let error = await #expect(throws: StoreError.self) {
      try await retrying(store).get(GetRequest(key: ObjectKey("k")), into: sink)
    }
    #expect(error?.code == .interrupted)
    #expect(sink.begun.load(ordering: .relaxed) == 1)
  }

  @Test func `a body that has not begun is asked for again`() async throws {
    let store = ScriptedStore([failure(.serverError)])
    let sink = Collected()
    guard case .delivered = try await retrying(store).get(GetRequest(key: ObjectKey("k")), into: sink) else {
      Issue.record("not delivered")
      return
    }
    #expect(sink.begun.load(ordering: .relaxed) == 1)
    #expect(sink.bytes.withLock { $0 } == [1, 2, 3])
  }

  @Test func `does not begin a pause that ends after the deadline`() async {
    let store = ScriptedStore([failure(.serverError), failure(.serverError)])
    let deadline = clock.now() + .seconds(1)
    await #expect(throws: StoreError.self) {
      try await retrying(store).head(HeadRequest(key: ObjectKey("k"), deadline: deadline))
    }
    #expect(store.calls.load(ordering: .relaxed) == 2)
    #expect(taken == [.milliseconds(500)])
  }

  @Test func `a probe is not repeated`() async {
    let store = ScriptedStore([failure(.unreachable)])
    await #expect(throws: StoreError.self) { try await retrying(store).probe(deadline: nil) }
    #expect(store.calls.load(ordering: .relaxed) == 1)
  }

  @Test func `a dead origin is soon asked only once for each request`() async {
    let store = ScriptedStore(Array(repeating: failure(.timeout), count: 1000))
    let retrying = retrying(store)
    for _ in 0..<100 { _ = try? await retrying.head(HeadRequest(key: ObjectKey("k"))) }
    // 500 tokens at 10 a retry.
    #expect(store.calls.load(ordering: .relaxed) == 150)
  }

  @Test func `what nobody waits for is not tried again`() async {
    let store = ScriptedStore(Array(repeating: failure(.serverError), count: 10))
    let retrying = retrying(store)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try? await retrying.head(HeadRequest(key: ObjectKey("k")))
    }
    await task.value
    #expect(store.calls.load(ordering: .relaxed) == 1)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `A store's error` {
  static let definite: [StoreError.Code] = [
    .notFound, .accessDenied, .archived, .preconditionFailed, .rangeNotSatisfiable, .invalidRequest, .cancelled,
  ]
  static let origin: [StoreError.Code] = [
    .unreachable, .tls, .timeout, .throttled, .serverError, .malformedResponse, .interrupted, .checksumMismatch,
    .credentials, .clockSkew, .wrongRegion, .noSuchBucket,
  ]

  @Test(arguments: definite) func `is obeyed when it is an answer`(_ code: StoreError.Code) {
    #expect(!failure(code).isOriginFailure)
  }
  @Test(arguments: origin) func `lets stale content be served when the origin failed`(_ code: StoreError.Code) {
    #expect(failure(code).isOriginFailure)
  }

  @Test func `says what a person needs`() {
    let error = StoreError(
      .throttled, operation: "GetObject", subject: "b/k", status: 503, reason: "SlowDown",
      message: "asked to slow down",
      requestID: "R1")
    #expect(error.description == "GetObject b/k: asked to slow down (HTTP 503 SlowDown) [request R1]")
    #expect(failure(.timeout).description == "GetObject bucket/key: test")
  }
}
