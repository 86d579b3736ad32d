// The attempts of one question: sign, send, count, and correct what the answer says is wrong.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

extension S3Store {
  /// The head of a 2xx or 304 answer whose body went to `reader`.
  func ask(_ question: Question, reader: any AnswerReader) async throws(StoreError) -> HTTPHead {
    var correction = Correction()
    var attempts = KeyAttempts(customerKeys, question.key, site.endpoint.address)
    var wasLost = false
    while true {
      let identity = try await identity(for: question)
      let endpoint = site.endpoint
      let offset = site.clockOffset
      let target = correction.redirected ?? Target(endpoint, key: question.key)
      let date = Timestamp(seconds: WallTime(milliseconds: clock.wall().milliseconds + offset.milliseconds).seconds)
      var asked = question
      if let fields = attempts?.fields { asked.headers += fields }
      if wasLost { asked.isFresh = true }
      let request = asked.request(
        at: target, identity: identity, date: date, keys: keys, timeout: try timeLeft(question))
      let answer = Answer(reader)
      guard try await send(request, question, answer) else {
        wasLost = true
        try await Allowance.current?.again()
        continue
      }
      guard let head = answer.received else { throw question.malformed("no answer came", nil) }
      if answer.isExpected || head.status == 304 {
        attempts?.noteSuccess()
        return head
      }

      let refusal = Refusal(head: head, body: answer.errorBody)
      if attempts?.next(after: refusal, isHead: question.method == .head) == true {
        try await Allowance.current?.again()
        continue
      }
      let now = clock.wall()
      let step = correction.step(
        after: refusal, question: question, target: target, endpoint: endpoint, identity: identity,
        clockOffset: offset, now: now)
      let error = refusal.error(question, signed: identity.credentials, now: now)
      guard try await apply(step, question, error: error) else { throw error }
      try await Allowance.current?.again()
    }
  }

  private func identity(for question: Question) async throws(StoreError) -> Identity {
    if question.bySession, let sessions = sessions { return try await sessions.identity(question) }
    do throws(CredentialError) {
      if let identity = try await configuration.credentials.identity() { return identity }
      throw CredentialError("no credentials found (asked: \(configuration.credentials.name))")
    } catch {
      throw question.fault(.credentials, error.description)
    }
  }

  private func timeLeft(_ question: Question) throws(StoreError) -> Duration? {
    guard let deadline = question.deadline else { return nil }
    let left = deadline - clock.now()
    guard left > .zero else { throw question.fault(.timeout, "no time was left to ask") }
    return left
  }

  /// One attempt, counted if it was sent. A refusal whose body broke off is still a refusal. False: it is to be sent
  /// over a new connection.
  private func send(_ request: HTTPRequest, _ question: Question, _ answer: Answer) async throws(StoreError) -> Bool {
    do throws(HTTPError) {
      let summary = try await client.perform(request, handler: answer)
      record(question, answer, status: summary.status, bytes: summary.bodyBytes)
      log.debug("\(question.operation) \(question.subject): \(summary.status), \(summary.bodyBytes) B")
      return true
    } catch {
      if error.wasSent { record(question, answer, status: error.status, bytes: error.bodyBytes) }
      log.debug("\(question.operation) \(question.subject): \(error.message)")
      if error.kind == .lost, !request.isFresh { return false }
      if error.kind != .cancelled, answer.received != nil, !answer.isExpected { return true }
      let host = site.endpoint.host
      throw StoreError(
        StoreError.Code(error.kind), operation: question.operation, subject: question.subject, status: error.status,
        message: "\(error.message) (\(host))")
    }
  }

  private func record(_ question: Question, _ answer: Answer, status: Int, bytes: Int64) {
    let name = answer.received?.text("x-amz-storage-class")
    ledger.record(
      question.kind, status: status, bytes: bytes, of: question.place,
      storageClass: site.endpoint.isDirectory
        ? .expressOneZone : question.key.map { classes.priced($0, status: status, answered: name) } ?? .standard)
  }

  /// Whether it is worth asking again.
  private func apply(_ step: Correction.Step, _ question: Question, error: StoreError) async throws(StoreError) -> Bool
  {
    switch step {
    case .none: return false
    case .redirect: return true
    case .region(let region):
      guard let endpoint = try? configuration.endpoint(region: region) else { return false }
      log.once(.notice, key: "region \(region)", "bucket \(configuration.bucket) is in region \(region)")
      site.endpoint = endpoint
      return true
    case .clock(let offset):
      site.clockOffset = offset
      if offset != .zero {
        log.once(
          .warning, key: "clock",
          "the clock here is off by \(formatDuration(offset < .zero ? .zero - offset : offset)): requests are signed with the server's time"
        )
      }
      return true
    case .keys(let refused, _) where question.bySession && sessions != nil:
      sessions?.refuse(refused)
      return try await identity(for: question) != refused
    case .keys(let refused, let isCertain):
      await configuration.credentials.refuse(refused, isCertain: isCertain)
      let renewed = try? await configuration.credentials.identity()
      return renewed != nil && renewed != refused
    }
  }
}

extension StoreError.Code {
  init(_ kind: HTTPError.Kind) {
    switch kind {
    case .connection: self = .unreachable
    case .tls: self = .tls
    case .timeout: self = .timeout
    case .interrupted, .lost: self = .interrupted
    case .malformed: self = .malformedResponse
    case .invalid: self = .invalidRequest
    case .cancelled, .closed: self = .cancelled
    }
  }
}

extension Duration {
  var milliseconds: Int64 { nanosecondsClamped / 1_000_000 }
}
