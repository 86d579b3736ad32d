// The scripted server's state, and the life of one request in it.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Serves the connections of one FakeS3.
final class FakeS3Core: Sendable {
  struct State {
    var objects = FakeObjects()
    var settings = FakeS3.Settings()
    var rules: [FaultRule] = []
    var log: [RecordedRequest] = []
    var firstNumber = 0
    var sums = RequestSums()
    /// Counts the calls of `release`: a request that hangs waits for the next.
    var releases = 0
  }
  let state = Mutex(State())
  let bucket: String
  private let clock = SystemClock()

  init(bucket: String) { self.bucket = bucket }

  func release() { state.withLock { $0.releases += 1 } }

  func serve(_ connection: Connection, mode: @escaping () -> ServerMode) {
    while let head = connection.readHead().flatMap(MessageHead.init) {
      var body: [UInt8] = []
      if head.length ?? 0 > 0 || head.isChunked {
        if head.fields["expect"] != nil { connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        guard
          connection.readBody(
            of: head,
            {
              body += $0; return true
            })
        else { return }
      }
      guard connection.wait(until: { mode() != .blackhole }) else { return }
      let (request, faults) = receive(head, body, connection)
      let answering = Answering(connection: connection, request: request, faults: faults, core: self, mode: mode)
      guard answering.run(closes: head.closes) else { return }
    }
  }

  /// Enters the request in the record and finds its faults.
  private func receive(_ head: MessageHead, _ body: [UInt8], _ connection: Connection) -> (RecordedRequest, [Fault]) {
    let address = S3Address(head, bucket: bucket)
    return state.withLock { state in
      let request = RecordedRequest(
        number: state.firstNumber + state.log.count, kind: address.kind, method: head.method,
        target: String(decoding: head.target, as: UTF8.self), key: address.key, query: address.query,
        fields: head.fields, body: body, connection: connection.number, arrived: clock.now())
      state.log.append(request)
      state.sums.count(address.kind)
      var faults: [Fault] = []
      for index in state.rules.indices where state.rules[index].meets(request) { faults += state.rules[index].faults }
      return (request, faults)
    }
  }

  /// The answer S3 would give, with the faults of meaning (not of transport) in it.
  func answer(to request: RecordedRequest, _ faults: [Fault]) -> FakeAnswer {
    state.withLock { state in
      if request.kind == .list { state.objects.sort() }
      return S3Bucket(name: bucket, state: state).answer(to: request, faults)
    }
  }

  /// Notes the status before the answer's head is sent, so that whoever has the answer finds it counted.
  func note(_ number: Int, status: Int) {
    state.withLock { state in
      state.sums.count(status: status)
      state.change(number) { $0.status = status }
    }
  }
  func note(_ number: Int, bytes: Int64) {
    state.withLock { state in
      state.sums.bodyBytes += bytes
      state.change(number) { $0.bytesSent += bytes }
    }
  }
  func noteEnd(_ number: Int) {
    let now = clock.now()
    state.withLock { state in state.change(number) { $0.finished = now } }
  }
}

extension FakeS3Core.State {
  /// Requests from before a reset are no longer in the record.
  mutating func change(_ number: Int, _ body: (inout RecordedRequest) -> Void) {
    let index = number - firstNumber
    if log.indices.contains(index) { body(&log[index]) }
  }
}
