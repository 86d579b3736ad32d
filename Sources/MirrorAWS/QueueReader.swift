// Asks SQS for messages and takes away those that are done with (SQS API Reference, AWS JSON protocol 1.0).
public import MirrorHTTP
public import MirrorPlatform
import MirrorStore
import Synchronization

/// One message, and what SQS calls this delivery of it.
struct QueueMessage: Sendable {
  let receipt: String
  let body: [UInt8]
}

/// Why a queue was not read, in its own words or those of the transport.
struct QueueError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Reads one queue; safe to share. Its requests are none of the bucket's: they are counted here.
public final class QueueReader: Sendable {
  /// SQS answers after so long at the latest, with messages or without.
  static let longPoll = Duration.seconds(20)

  private struct State {
    var sent = 0
    var clockOffset = Duration.zero
  }
  let address: QueueAddress
  private let region: String
  private let credentials: any CredentialProvider
  private let exchanger: any HTTPExchanger
  private let clock: any Clock
  private let state = Mutex(State())

  /// `exchanger` must bear the silence of a long poll; `region` counts where the queue's URL tells none.
  public init(
    _ address: QueueAddress, region: String?, credentials: any CredentialProvider, exchanger: any HTTPExchanger,
    clock: any Clock = SystemClock()
  ) {
    self.address = address
    self.region = address.region ?? region ?? "us-east-1"
    self.credentials = credentials
    self.exchanger = exchanger
    self.clock = clock
  }

  /// Requests that were sent.
  var sent: Int { state.withLock { $0.sent } }

  /// Up to ten messages, as soon as there are any; none after the time of a long poll.
  func receive() async throws(QueueError) -> [QueueMessage] {
    let wait = Self.longPoll.components.seconds
    let answer = try await ask(
      "ReceiveMessage", [("MaxNumberOfMessages", .int(10)), ("WaitTimeSeconds", .int(wait))],
      timeout: Self.longPoll + .seconds(8))
    guard case .array(let messages)? = answer["Messages"] else { return [] }
    return messages.compactMap { message in
      guard let receipt = message["ReceiptHandle"]?.string, let text = message["Body"]?.string else { return nil }
      let body = Array(text.utf8)
      // A message that was damaged on its way comes once more.
      if let sum = message["MD5OfBody"]?.string, sum != hexadecimal(Digest.value(.md5, of: body)) { return nil }
      return QueueMessage(receipt: receipt, body: body)
    }
  }

  /// Up to ten. Those that could not be taken away come again.
  func delete(_ messages: [QueueMessage]) async throws(QueueError) {
    let entries = messages.enumerated().map { index, message in
      JSON.object([("Id", .string("\(index)")), ("ReceiptHandle", .string(message.receipt))])
    }
    let answer = try await ask("DeleteMessageBatch", [("Entries", .array(entries))], timeout: .seconds(10))
    if case .array(let failed)? = answer["Failed"], let first = failed.first {
      throw QueueError(first["Message"]?.string ?? first["Code"]?.string ?? "messages can't be deleted")
    }
  }

  /// Twice at most: again where the answer tells what was wrong with the signature.
  private func ask(_ action: String, _ members: [(String, JSON)], timeout: Duration) async throws(QueueError) -> JSON {
    let body = Array(JSON.object([("QueueUrl", .string(address.url))] + members).text.utf8)
    var problem = QueueError("no answer")
    for _ in 0..<2 {
      let identity = try await identity()
      let reply: HTTPReply
      do throws(HTTPError) {
        reply = try await exchanger.exchange(request(action, body, identity, timeout))
      } catch {
        if error.wasSent { state.withLock { $0.sent += 1 } }
        throw QueueError(error.message)
      }
      state.withLock { $0.sent += 1 }
      if reply.status == 200 {
        guard let answer = JSON(parsing: reply.body) else { throw QueueError("the answer is no JSON") }
        return answer
      }
      problem = Self.problem(reply)
      guard (400..<500).contains(reply.status), await correct(after: reply, identity) else { break }
    }
    throw problem
  }

  private func identity() async throws(QueueError) -> Identity {
    do throws(CredentialError) {
      if let identity = try await credentials.identity() { return identity }
    } catch { throw QueueError(error.description) }
    throw QueueError("no credentials found (asked: \(credentials.name))")
  }

  private func request(_ action: String, _ body: [UInt8], _ identity: Identity, _ timeout: Duration) -> HTTPExchange {
    var headers = [
      HTTPField("Content-Type", "application/x-amz-json-1.0"), HTTPField("X-Amz-Target", "AmazonSQS.\(action)"),
    ]
    if let keys = identity.credentials {
      let offset = state.withLock { $0.clockOffset }
      let now = WallTime(milliseconds: clock.wall().milliseconds + offset.milliseconds)
      let signer = SigV4(
        credentials: keys, region: region, service: "sqs", date: Timestamp(seconds: now.seconds))
      headers.append(HTTPField("X-Amz-Date", signer.stamp))
      if let token = keys.sessionToken { headers.append(HTTPField("X-Amz-Security-Token", token)) }
      let canonical = CanonicalRequest(
        method: "POST", path: "/", query: CanonicalQuery(),
        headers: headers.map { (name: $0.name, value: $0.value) }
          + [(name: "host", value: address.address.hostHeader)],
        payloadHash: hexadecimal(Digest.value(.sha256, of: body)))
      headers.append(HTTPField("Authorization", signer.authorization(canonical, key: signer.signingKey)))
    }
    return HTTPExchange(.post, url: address.address.url + "/", headers: headers, body: body, timeout: timeout)
  }

  /// Whether another attempt is signed otherwise: by the server's clock, or with other keys.
  private func correct(after reply: HTTPReply, _ identity: Identity) async -> Bool {
    if let date = reply.head.text("date").flatMap({ Timestamp(httpDate: $0) }) {
      let offset = WallTime(seconds: date.seconds) - clock.wall()
      let isOff = offset >= Correction.noticeableGap || offset <= .zero - Correction.noticeableGap
      let known = state.withLock { state in
        defer { state.clockOffset = isOff ? offset : .zero }
        return state.clockOffset
      }
      if isOff, known == .zero { return true }
    }
    guard Self.mayBeOldKeys(reply) else { return false }
    await credentials.refuse(identity, isCertain: true)
    let renewed = try? await credentials.identity()
    return renewed != nil && renewed != identity
  }

  /// A queue that is gone or denied says nothing of the keys, which others use, too.
  private static func mayBeOldKeys(_ reply: HTTPReply) -> Bool {
    guard let type = JSON(parsing: reply.body)?["__type"]?.string, let code = type.split(separator: "#").last else {
      return true
    }
    return S3ErrorCode.mayBeOldKeys(String(code))
  }

  /// `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}`
  private static func problem(_ reply: HTTPReply) -> QueueError {
    guard let json = JSON(parsing: reply.body), let type = json["__type"]?.string,
      let name = type.split(separator: "#").last
    else { return QueueError("SQS answers \(reply.status)") }
    let words = json["message"]?.string ?? json["Message"]?.string
    return QueueError("\(name)\(words.map { ": \($0)" } ?? "")")
  }
}
