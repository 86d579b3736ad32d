// A queue is read, its messages are done with or left, and its failures harm nobody.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Queues of changes", .timeLimit(.minutes(2)))
struct QueueTests {
  private let queue: FakeQueue
  private let transport: HTTPTransport
  private let heard = Heard()

  private final class Heard: Sendable {
    private let changes = Mutex<[KeyChange]>([])
    var keys: [String] { changes.withLock { $0.map(\.key.description) } }
    func add(_ change: KeyChange) { changes.withLock { $0.append(change) } }
  }

  init() throws {
    queue = try FakeQueue()
    var settings = HTTPSettings()
    settings.silenceLimit = .seconds(30)
    transport = try HTTPTransport(settings)
  }

  private func watch(
    _ credentials: any CredentialProvider = testCredentials, log: Log = .none, prefix: String = "",
    clock: any Clock = SystemClock()
  ) throws -> QueueWatch {
    let reader = QueueReader(
      try QueueAddress(parsing: queue.url), region: "eu-west-1", credentials: credentials, exchanger: transport)
    return QueueWatch(reader, bucket: "b", prefix: ObjectKey(prefix), clock: clock, log: log) { [heard] in
      heard.add($0)
    }
  }

  private func isListening(_ status: QueueStatus) -> Bool {
    if case .listening = status.condition { true } else { false }
  }

  private func write(_ key: String, _ sequencer: String) {
    queue.send(notification("ObjectCreated:Put", "b", key, sequencer: sequencer))
  }

  @Test func `what is heard is handed on once, and taken from the queue`() async throws {
    let watch = try watch()
    write("k", "2")
    write("k", "2")
    write("k", "1")
    queue.send(notification("ObjectCreated:Put", "other", "x"))
    queue.send(#"{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"b"}"#)
    #expect(await watch.round() == .zero)
    #expect(heard.keys == ["k"])
    #expect(queue.count == 0)
    let status = watch.status
    #expect(status.requests == 2 && status.messages == 5 && status.changes == 1)
    #expect(status.cost == 2 * 0.4 / 1e6)
    #expect(isListening(status))
  }

  @Test func `requests are those of the protocol, signed for the queue's service and region`() async throws {
    let watch = try watch(
      FixedCredentials(Credentials(accessKeyID: "K", secretAccessKey: "s", sessionToken: "token")))
    write("k", "1")
    _ = await watch.round()
    let (ask, delete) = (queue.requests[0], queue.requests[1])
    #expect(ask.action == "ReceiveMessage" && delete.action == "DeleteMessageBatch")
    #expect(ask.body["QueueUrl"]?.string == queue.url)
    #expect(ask.body["WaitTimeSeconds"]?.int == 20 && ask.body["MaxNumberOfMessages"]?.int == 10)
    for request in [ask, delete] {
      #expect(request.fields["content-type"] == "application/x-amz-json-1.0")
      #expect(request.fields["x-amz-security-token"] == "token")
      let authorization = request.fields["authorization"] ?? ""
      #expect(authorization.contains("/eu-west-1/sqs/aws4_request"))
      #expect(
        authorization.contains("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target"))
    }
  }

  @Test func `a message comes within moments, while one question waits`() async throws {
    let watch = try watch()
    watch.start()
    defer { watch.stop() }
    #expect(await eventually { queue.requests.count == 1 })
    try await Task.sleep(for: .milliseconds(300))
    #expect(queue.requests.count == 1)
    let sent = ContinuousClock.now
    write("k", "1")
    #expect(await eventually { heard.keys == ["k"] })
    #expect(ContinuousClock.now - sent < .seconds(1))
    #expect(await eventually { queue.count == 0 })
  }

  @Test func `a stranger's message is left, and a damaged one comes again`() async throws {
    // The answer takes no time, however busy the machine is.
    let watch = try watch(clock: ManualClock())
    queue.send(#"{"job":"of somebody else"}"#)
    #expect(await watch.round() == QueueWatch.shortestPause)
    #expect(queue.count == 1 && heard.keys.isEmpty)
    queue.setVisibility(.zero)
    queue.damageNext()
    write("k", "1")
    _ = await watch.round()
    #expect(heard.keys.isEmpty)
    _ = await watch.round()
    #expect(heard.keys == ["k"])
    #expect(queue.count == 1)
  }

  @Test func `failures are told once, at longer and longer intervals, and so is their end`() async throws {
    let directory = try TemporaryDirectory("queue")
    let watch = try watch(log: try Log(path: directory.file("log")))
    queue.fail(400, "QueueDoesNotExist")
    var pauses: [Duration] = []
    for _ in 0..<8 { pauses.append(await watch.round()) }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect("\(watch.status.condition)".contains("QueueDoesNotExist: said the test"))
    queue.fail(nil)
    write("k", "1")
    #expect(await watch.round() == .zero)
    #expect(heard.keys == ["k"])
    #expect(isListening(watch.status))
    let lines = String(decoding: try FileSystem.read(directory.file("log")), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2, "\(lines)")
    #expect(lines.first?.contains("warning") == true && lines.first?.contains("only the lifetimes count") == true)
    #expect(lines.last?.contains("listening to \(queue.url)") == true)
  }

  @Test func `a queue that is not there is asked again`() async throws {
    let watch = try watch()
    queue.setMode(.refuse)
    #expect(await watch.round() == .seconds(1))
    queue.setMode(.ok)
    write("k", "1")
    #expect(await watch.round() == .zero)
    #expect(heard.keys == ["k"])
  }

  @Test func `keys that are refused are fetched anew, and a clock that is off is heeded`() async throws {
    let watch = try watch(RotatingCredentials())
    queue.fail(403, "ExpiredToken")
    _ = await watch.round()
    #expect(queue.requests.map { $0.fields["authorization"]?.contains("Credential=K1/") } == [true, false])
    queue.setClock(ahead: 7200)
    _ = await watch.round()
    queue.fail(nil)
    write("k", "1")
    _ = await watch.round()
    let stamp = try #require(queue.requests.last?.fields["x-amz-date"])
    #expect(stamp > Timestamp(seconds: SystemClock().wall().seconds + 7000).basic)
    #expect(heard.keys == ["k"])
  }

  @Test(arguments: ["AccessDeniedException", "QueueDoesNotExist"])
  func `a queue that is denied or gone costs nobody his keys`(code: String) async throws {
    let watch = try watch(RotatingCredentials())
    queue.fail(400, code)
    for _ in 0..<3 { _ = await watch.round() }
    #expect(queue.requests.count == 3)
    #expect(queue.requests.allSatisfy { $0.fields["authorization"]?.contains("Credential=K1/") == true })
  }

  @Test func `it ends at once when it is told to`() async throws {
    let watch = try watch()
    watch.start()
    #expect(await eventually { queue.requests.count == 1 })
    let started = ContinuousClock.now
    watch.stop()
    try await blocking { [transport] in transport.close() }
    #expect(ContinuousClock.now - started < .seconds(2))
  }

  @Test func `queues are named by region, account and name, or by their URL`() throws {
    for (text, url, region) in [
      (
        "sqs://eu-central-1/111122223333/changes", "https://sqs.eu-central-1.amazonaws.com/111122223333/changes",
        "eu-central-1"
      ),
      ("sqs://cn-north-1/111122223333/q", "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q", "cn-north-1"),
      ("https://sqs.us-west-2.amazonaws.com/111122223333/q.fifo", "", "us-west-2"),
      ("https://sqs-fips.us-gov-west-1.amazonaws.com/111122223333/q", "", "us-gov-west-1"),
      ("https://eu-west-1.queue.amazonaws.com/111122223333/q", "", "eu-west-1"),
      ("https://queue.amazonaws.com/111122223333/q", "", "us-east-1"),
      ("https://vpce-1-2.sqs.eu-west-3.vpce.amazonaws.com/111122223333/q", "", "eu-west-3"),
      ("http://localhost:4566/000000000000/q", "", nil),
    ] as [(String, String, String?)] {
      let address = try QueueAddress(parsing: text)
      #expect(address.url == (url.isEmpty ? text : url))
      #expect(address.region == region, "\(text)")
    }
    for text in [
      "", "changes", "arn:aws:sqs:r:1:q", "sqs://eu-central-1/changes", "sqs://r/1/q", "https://sqs.r.amazonaws.com",
      "https://host/q", "sqs://eu central/111122223333/q", "ftp://host/111122223333/q",
    ] {
      #expect(throws: EndpointError.self, "\(text)") { _ = try QueueAddress(parsing: text) }
    }
  }
}
