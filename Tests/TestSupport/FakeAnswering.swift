// Sends one answer, with the faults of transport: late, slow, cut, torn, or never.
import MirrorPlatform

/// An answer before it is sent.
struct FakeAnswer: Sendable {
  var status: Int
  var fields = Fields()
  var body = FakeBody.bytes([])
  /// The part of `body` to send.
  var range: Range<Int64>
  var chunked = false

  init(_ status: Int, fields: Fields = Fields(), _ body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = .bytes(body)
    range = 0..<Int64(body.count)
  }
}

struct Answering {
  let connection: Connection
  let request: RecordedRequest
  let faults: [Fault]
  let core: FakeS3Core
  let mode: () -> ServerMode

  /// False when the connection ends with this answer.
  func run(closes: Bool) -> Bool {
    defer { core.noteEnd(request.number) }
    for fault in faults {
      switch fault {
      case .delay(let time): guard connection.wait(time) else { return unanswered() }
      case .hang: guard untilReleased() else { return unanswered() }
      case .reset:
        connection.resetWhenClosed()
        return unanswered()
      case .close: return unanswered()
      case .raw(let bytes):
        connection.write(bytes)
        return unanswered()
      default: break
      }
    }
    var answer = core.answer(to: request, faults)
    var closes = closes
    for case .closeAfter in faults { closes = true }
    for case .chunked in faults { answer.chunked = true }
    core.note(request.number, status: answer.status)
    return send(answer, closes: closes) && !closes
  }

  private func unanswered() -> Bool {
    core.note(request.number, status: 0)
    return false
  }

  private func untilReleased() -> Bool {
    let before = core.state.withLock { $0.releases }
    return connection.wait { core.state.withLock { $0.releases } != before }
  }

  private func send(_ answer: FakeAnswer, closes: Bool) -> Bool {
    var fields = answer.fields
    let length = answer.range.upperBound - answer.range.lowerBound
    fields.all.append(("Date", Timestamp(seconds: core.state.withLock { $0.settings.now }).httpDate))
    fields.all.append(("x-amz-request-id", "REQUEST\(request.number)"))
    fields.all.append(("Server", "AmazonS3"))
    if answer.chunked {
      fields["Transfer-Encoding"] = "chunked"
    } else if answer.status != 304 {
      fields.all.append(("Content-Length", "\(length)"))
    }
    if closes { fields["Connection"] = "close" }
    for case .announce(let difference) in faults where fields["Content-Length"] != nil {
      fields["Content-Length"] = "\(max(0, length + difference))"
    }
    for case .field(let name, let value) in faults { fields[name] = value }
    for case .interim(let status) in faults { connection.write(Array("HTTP/1.1 \(status) Wait\r\n\r\n".utf8)) }
    guard connection.write(Array("HTTP/1.1 \(answer.status) \(phrase(answer.status))\r\n\(fields.text)\r\n".utf8))
    else {
      return false
    }
    if request.method == "HEAD" || answer.status == 304 { return true }
    return stream(answer)
  }

  private func stream(_ answer: FakeAnswer) -> Bool {
    let end = answer.range.upperBound - answer.range.lowerBound
    var events = self.events
    let spots = faults.compactMap { fault -> Int64? in
      switch fault {
      case .corrupt(let at): at
      case .corruptSomewhere: end > 0 ? Int64.random(in: 0..<end) : nil
      default: nil
      }
    }
    var sent: Int64 = 0
    let started = ContinuousClock.now
    let releases = core.state.withLock { $0.releases }
    while true {
      while let event = events.first, event.at <= sent {
        events.removeFirst()
        guard happens(event.fault) else { return false }
      }
      if sent == end { break }
      guard connection.wait(until: { mode() != .blackhole }) else { return false }
      var count = min(end - sent, events.first.map { $0.at - sent } ?? .max, 1 << 17)
      if let rate, core.state.withLock({ $0.releases }) == releases {
        count = min(count, Int64(max(1, rate / 50)))
        let due = started + .nanoseconds(Int64(Double(sent) / Double(rate) * 1e9))
        guard connection.wait(until: { ContinuousClock.now >= due || core.state.withLock { $0.releases } != releases })
        else { return false }
      }
      let from = answer.range.lowerBound + sent
      var part = answer.body.slice(from, from + count)
      for at in spots where at >= sent && at < sent + count { part[Int(at - sent)] ^= 0xFF }
      core.note(request.number, bytes: count)
      if answer.chunked { part = Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10] }
      guard connection.write(part) else { return false }
      sent += count
    }
    return answer.chunked ? connection.write(Array("0\r\n\r\n".utf8)) : true
  }

  private var rate: Int? {
    for case .throttle(let rate) in faults { return max(1, rate) }
    return nil
  }

  private var events: [(at: Int64, fault: Fault)] {
    faults.compactMap { fault -> (at: Int64, fault: Fault)? in
      switch fault {
      case .hangAfter(let at), .resetAfter(let at), .truncateAfter(let at), .meanwhile(let at, _): (at, fault)
      default: nil
      }
    }.sorted { $0.at < $1.at }
  }

  private func happens(_ fault: Fault) -> Bool {
    switch fault {
    case .hangAfter: return untilReleased()
    case .meanwhile(_, let body): body()
    case .truncateAfter: return false
    case .resetAfter:
      // What was sent must arrive before the reset discards it.
      pause(.milliseconds(20))
      connection.resetWhenClosed()
      return false
    default: break
    }
    return true
  }

  private func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 404: "Not Found"
    default: "Status"
    }
  }
}
