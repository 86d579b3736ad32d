// One queue of SQS on loopback, in the AWS JSON protocol 1.0: long polls, deliveries that come back, failures.
import MirrorPlatform
import Synchronization

/// It ends with its last reference.
public final class FakeQueue: Sendable {
  public struct Request: Sendable {
    public let action: String
    public let fields: Fields
    public let body: JSON
  }

  private struct Message {
    let number: Int
    let body: String
    var hiddenUntil = ContinuousClock.now
  }
  private struct State {
    var messages: [Message] = []
    var sent = 0
    var requests: [Request] = []
    var fault: (status: Int, code: String)?
    var visibility = Duration.seconds(30)
    var damagesNext = false
    var clockAhead: Int64 = 0
  }
  /// Shared with the threads of connections.
  private final class Holder: Sendable { let state = Mutex(State()) }
  private let holder: Holder
  private let listener: Listener

  public init() throws {
    let holder = Holder()
    self.holder = holder
    listener = try Listener { connection in
      while let head = connection.readHead().flatMap(MessageHead.init) {
        var body: [UInt8] = []
        guard
          connection.readBody(
            of: head,
            {
              body += $0; return true
            })
        else { return }
        let target = head.fields["x-amz-target"] ?? ""
        let request = Request(
          action: String(target.drop { $0 != "." }.dropFirst()), fields: head.fields, body: JSON(parsing: body) ?? .null
        )
        holder.state.withLock { $0.requests.append(request) }
        guard let answer = Self.answer(request, holder, connection) else { return }
        let date = SystemClock().wall().seconds + holder.state.withLock { $0.clockAhead }
        let text = Array(answer.body.text.utf8)
        let start =
          "HTTP/1.1 \(answer.status) X\r\nDate: \(Timestamp(seconds: date).httpDate)\r\n"
          + "Content-Type: application/x-amz-json-1.0\r\nContent-Length: \(text.count)\r\n\r\n"
        guard connection.write(Array(start.utf8) + text), !head.closes else { return }
      }
    }
  }
  deinit { listener.stop() }

  /// The queue's URL.
  public var url: String { "http://127.0.0.1:\(listener.port)/123456789012/changes" }
  public func setMode(_ mode: ServerMode) { listener.set(mode) }

  public var requests: [Request] { holder.state.withLock { $0.requests } }
  /// Messages that nobody has deleted.
  public var count: Int { holder.state.withLock { $0.messages.count } }

  public func send(_ body: String) {
    holder.state.withLock { state in
      state.sent += 1
      state.messages.append(Message(number: state.sent, body: body))
    }
  }
  /// Answers so to everything; nil: as a queue does.
  public func fail(_ status: Int?, _ code: String = "") {
    holder.state.withLock { $0.fault = status.map { ($0, code) } }
  }
  /// For so long a message that was given out is not given out again.
  public func setVisibility(_ time: Duration) { holder.state.withLock { $0.visibility = time } }
  /// The next message has another body than its digest says.
  public func damageNext() { holder.state.withLock { $0.damagesNext = true } }
  public func setClock(ahead seconds: Int64) { holder.state.withLock { $0.clockAhead = seconds } }

  private static func answer(_ request: Request, _ holder: Holder, _ connection: Connection) -> (
    status: Int, body: JSON
  )? {
    if let fault = holder.state.withLock({ $0.fault }) {
      return (
        fault.status,
        .object([("__type", .string("com.amazonaws.sqs#\(fault.code)")), ("message", .string("said the test"))])
      )
    }
    if request.action == "DeleteMessageBatch" {
      guard case .array(let entries)? = request.body["Entries"] else { return (400, .object([])) }
      let gone = entries.compactMap { $0["ReceiptHandle"]?.string }
      holder.state.withLock { state in state.messages.removeAll { gone.contains("receipt-\($0.number)") } }
      return (200, .object([("Failed", .array([]))]))
    }
    let end = ContinuousClock.now + .seconds(request.body["WaitTimeSeconds"]?.int ?? 0)
    var found: [JSON] = []
    let isThere = connection.wait {
      found = holder.state.withLock { take(&$0) }
      return !found.isEmpty || ContinuousClock.now >= end || holder.state.withLock { $0.fault != nil }
    }
    return isThere ? (200, .object(found.isEmpty ? [] : [("Messages", .array(found))])) : nil
  }

  private static func take(_ state: inout State) -> [JSON] {
    let now = ContinuousClock.now
    var found: [JSON] = []
    for index in state.messages.indices where state.messages[index].hiddenUntil <= now && found.count < 10 {
      state.messages[index].hiddenUntil = now + state.visibility
      let message = state.messages[index]
      let sum = hexadecimal(Digest.value(.md5, of: Array((message.body + (state.damagesNext ? "x" : "")).utf8)))
      state.damagesNext = false
      found.append(
        .object([
          ("MessageId", .string("\(message.number)")), ("ReceiptHandle", .string("receipt-\(message.number)")),
          ("MD5OfBody", .string(sum)), ("Body", .string(message.body)),
        ]))
    }
    return found
  }
}

/// The text of a notification as S3 sends it; `key` as it stands there, encoded.
public func notification(
  _ event: String, _ bucket: String, _ key: String, sequencer: String? = nil, time: String = "2026-11-30T12:00:00.000Z",
  version: String? = nil
) -> String {
  var object: [(String, JSON)] = [("key", .string(key)), ("size", .int(1))]
  if let sequencer { object.append(("sequencer", .string(sequencer))) }
  if let version { object.append(("versionId", .string(version))) }
  let record = JSON.object([
    ("eventVersion", .string("2.1")), ("eventSource", .string("aws:s3")), ("awsRegion", .string("us-east-1")),
    ("eventTime", .string(time)), ("eventName", .string(event)),
    ("s3", .object([("bucket", .object([("name", .string(bucket))])), ("object", .object(object))])),
  ])
  return JSON.object([("Records", .array([record]))]).text
}
