// Stands in front of a real S3 server and counts what passes: the requests a bill would show.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Passes requests on unchanged, `Host` too, so that signatures hold. It ends with its last reference.
public final class CountingProxy: Sendable {
  private let passage: Passage
  private let listener: Listener

  /// In front of a server on a loopback port.
  public init(to port: UInt16) throws {
    let passage = Passage(to: port)
    self.passage = passage
    listener = try Listener { connection in passage.serve(connection) }
    passage.state.withLock { $0.listener = listener }
  }
  deinit { stop() }

  public func stop() { listener.stop() }
  public var port: UInt16 { listener.port }
  public var endpoint: String { "http://127.0.0.1:\(listener.port)" }
  public var connections: Int { listener.accepted }

  public var mode: ServerMode { listener.mode }
  public func setMode(_ mode: ServerMode) { listener.set(mode) }
  public func cutConnections() { listener.cutConnections() }

  /// Waited before each request is passed on.
  public func setDelay(_ delay: Duration) { passage.state.withLock { $0.delay = delay } }

  public var requests: [RecordedRequest] { passage.state.withLock { $0.log } }
  public var sums: RequestSums { passage.state.withLock { $0.sums } }
  public func requests(_ kind: S3RequestKind, key: String? = nil) -> [RecordedRequest] {
    requests.filter { $0.kind == kind && (key == nil || $0.key == key.map { ObjectKey($0) }) }
  }
  public func reset() {
    passage.state.withLock {
      $0.firstNumber += $0.log.count
      $0.log = []
      $0.sums = RequestSums()
    }
  }
}

/// The way of requests through the proxy.
private final class Passage: Sendable {
  struct State {
    var delay = Duration.zero
    var log: [RecordedRequest] = []
    var firstNumber = 0
    var sums = RequestSums()
    weak var listener: Listener?
  }
  let state = Mutex(State())
  private let server: UInt16
  private let clock = SystemClock()

  init(to port: UInt16) { server = port }

  private var answers: Bool { state.withLock { $0.listener?.mode != .blackhole } }

  func serve(_ client: Connection) {
    var kept: Connection?
    while let head = client.readHead().flatMap(MessageHead.init) {
      var body: [UInt8] = []
      if head.length ?? 0 > 0,
        !client.readBody(
          of: head,
          {
            body += $0; return true
          })
      {
        return
      }
      let number = record(head, body, client)
      let delay = state.withLock { $0.delay }
      guard client.wait(until: { answers }), client.wait(delay),
        let (upstream, answer) = forward(head.bytes + body, reusing: kept)
      else { return note(number, status: 0) }
      note(number, status: answer.status)
      guard client.write(answer.bytes) else { return }
      if head.method != "HEAD", answer.status != 304, answer.status != 204 {
        guard passBody(of: answer, number, from: upstream, to: client) else { return }
      }
      if head.closes || answer.closes || (answer.length == nil && !answer.isChunked && head.method != "HEAD") { return }
      kept = upstream
    }
  }

  /// A kept connection may have been closed by the server: then once more on a new one.
  private func forward(_ bytes: [UInt8], reusing kept: Connection?) -> (Connection, MessageHead)? {
    for connection in [kept, try? Connection.open(port: server)] {
      guard let connection, connection.write(bytes) else { continue }
      if let answer = connection.readHead().flatMap(MessageHead.init) { return (connection, answer) }
    }
    return nil
  }

  /// The body as it comes, chunk framing rebuilt.
  private func passBody(of answer: MessageHead, _ number: Int, from server: Connection, to client: Connection) -> Bool {
    let whole = server.readBody(of: answer) { part in
      guard client.wait(until: { answers }) else { return false }
      note(number, bytes: Int64(part.count))
      return client.write(
        answer.isChunked ? Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10] : part)
    }
    return whole && (!answer.isChunked || client.write(Array("0\r\n\r\n".utf8)))
  }

  private func record(_ head: MessageHead, _ body: [UInt8], _ client: Connection) -> Int {
    let address = S3Address(head, bucket: "")
    return state.withLock { state in
      let number = state.firstNumber + state.log.count
      state.log.append(
        RecordedRequest(
          number: number, kind: address.kind, method: head.method, target: String(decoding: head.target, as: UTF8.self),
          key: address.key, query: address.query, fields: head.fields, body: body, connection: client.number,
          arrived: clock.now()))
      state.sums.count(address.kind)
      return number
    }
  }

  private func note(_ number: Int, status: Int) {
    state.withLock { state in
      state.sums.count(status: status)
      let index = number - state.firstNumber
      if state.log.indices.contains(index) { state.log[index].status = status }
    }
  }

  private func note(_ number: Int, bytes: Int64) {
    state.withLock { state in
      state.sums.bodyBytes += bytes
      let index = number - state.firstNumber
      if state.log.indices.contains(index) { state.log[index].bytesSent += bytes }
    }
  }
}
