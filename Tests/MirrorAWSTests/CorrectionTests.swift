// What a refusal makes the store change before it asks once again, and what it never does.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Corrections", .timeLimit(.minutes(1)))
struct CorrectionTests {
  private let get = GetRequest(key: ObjectKey("k"))

  private static func scope(_ request: HTTPRequest) -> String {
    let text = request.field("authorization") ?? ""
    return text.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
  }

  // A054
  @Test(arguments: [
    ScriptedAnswer.error(301, "PermanentRedirect", fields: [("x-amz-bucket-region", "eu-west-3")]),
    ScriptedAnswer.error(400, "AuthorizationHeaderMalformed", extra: "<Region>eu-west-3</Region>"),
    ScriptedAnswer(status: 400, fields: [("x-amz-bucket-region", "eu-west-3")]),
  ]) func `another region is signed for once, and remembered`(refusal: ScriptedAnswer) async throws {
    let client = ScriptedClient { request, _ in
      Self.scope(request) == "eu-west-3" ? .object("body") : refusal
    }
    let ledger = Ledger()
    let store = try makeStore(client, ledger: ledger)
    for _ in 0..<2 { _ = try await store.get(get, into: CollectingSink()) }
    #expect(client.requests.count == 3)
    #expect(client.requests[1].url == "https://bucket.s3.eu-west-3.amazonaws.com/k")
    #expect(store.region == "eu-west-3" && store.endpointHost == "bucket.s3.eu-west-3.amazonaws.com")
    #expect(ledger.sinceMount.gets == 3 && ledger.sinceMount.failed == (refusal.status == 400 ? 1 : 0))
  }

  @Test func `a server that names ever other regions is asked twice`() async throws {
    let client = ScriptedClient { _, index in
      .error(301, "PermanentRedirect", fields: [("x-amz-bucket-region", "eu-west-\(index + 2)")])
    }
    let store = try makeStore(client)
    let error = await storeError { _ = try await store.get(get, into: CollectingSink()) }
    #expect(error?.code == .wrongRegion && error?.message.contains("eu-west-3") == true)
    #expect(client.requests.count == 2)
  }

  @Test func `a custom endpoint keeps its host whatever the region`() async throws {
    let client = ScriptedClient { request, _ in
      Self.scope(request) == "garage"
        ? .object("body") : .error(400, "AuthorizationHeaderMalformed", extra: "<Region>garage</Region>")
    }
    let store = try makeStore(client, endpoint: "http://127.0.0.1:3900")
    _ = try await store.get(get, into: CollectingSink())
    #expect(client.requests.map(\.url) == ["http://127.0.0.1:3900/bucket/k", "http://127.0.0.1:3900/bucket/k"])
  }

  // A055
  @Test func `307 is followed within the domain, signed anew`() async throws {
    let client = ScriptedClient { request, index in
      index == 0
        ? .error(307, "TemporaryRedirect", fields: [("Location", "https://bucket.s3-us-west-2.amazonaws.com/a%20b")])
        : .object("body")
    }
    let sink = CollectingSink()
    _ = try await makeStore(client).get(GetRequest(key: ObjectKey("a b")), into: sink)
    #expect(client.requests[1].url == "https://bucket.s3-us-west-2.amazonaws.com/a%20b")
    #expect(client.requests[0].field("authorization") != client.requests[1].field("authorization"))
    #expect(sink.text == "body")
  }

  @Test func `307 ends after two, and never leads elsewhere`() async throws {
    let loop = ScriptedClient(
      .error(307, "TemporaryRedirect", fields: [("Location", "https://x.s3.us-east-1.amazonaws.com/k")]))
    let store = try makeStore(loop)
    #expect(await storeError { _ = try await store.get(get, into: CollectingSink()) }?.code == .wrongRegion)
    #expect(loop.requests.count == 3)
    let away = ScriptedClient(.error(307, "TemporaryRedirect", fields: [("Location", "https://evil.example/k")]))
    let other = try makeStore(away)
    #expect(await storeError { _ = try await other.get(get, into: CollectingSink()) }?.code == .wrongRegion)
    #expect(away.requests.count == 1)
  }

  /// Accepts dates within 15 minutes of a clock an hour ahead.
  private func skewed(_ clock: ManualClock, ahead: Duration) -> ScriptedClient {
    ScriptedClient { request, _ in
      let server = Timestamp(seconds: clock.wall().seconds + Int64(ahead.secondsValue))
      let sent = request.field("x-amz-date").flatMap { Self.seconds($0) } ?? 0
      let fields = [("Date", server.httpDate)]
      return abs(server.seconds - sent) > 900
        ? .error(403, "RequestTimeTooSkewed", fields: fields) : .object("body", fields: fields)
    }
  }

  private static func seconds(_ basic: String) -> Int64? {
    let digits = Array(basic.utf8)
    guard digits.count == 16 else { return nil }
    let text = String(decoding: digits, as: UTF8.self)
    func part(_ from: Int, _ count: Int) -> Substring { text.dropFirst(from).prefix(count) }
    return Timestamp(
      rfc3339: "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))T\(part(9, 2)):\(part(11, 2)):\(part(13, 2))Z")?.seconds
  }

  @Test func `a clock that is off is made up for, and the offset kept`() async throws {
    let clock = ManualClock()
    let client = skewed(clock, ahead: .seconds(3600))
    let store = try makeStore(client, clock: clock)
    for _ in 0..<2 { _ = try await store.get(get, into: CollectingSink()) }
    #expect(client.requests.count == 3)
    // The clock here is set right: the offset hurts now, and is dropped.
    clock.stepWall(.seconds(3600))
    let right = ScriptedClient { request, _ in
      let sent = request.field("x-amz-date").flatMap { Self.seconds($0) } ?? 0
      let fields = [("Date", Timestamp(seconds: clock.wall().seconds).httpDate)]
      return abs(clock.wall().seconds - sent) > 900
        ? .error(403, "RequestTimeTooSkewed", fields: fields) : .object("body", fields: fields)
    }
    let moved = S3Site(try Endpoint(bucket: "bucket", region: "us-east-1"))
    moved.clockOffset = store.site.clockOffset
    let second = try makeStore(right, clock: clock)
    second.site.clockOffset = moved.clockOffset
    _ = try await second.get(get, into: CollectingSink())
    #expect(right.requests.count == 2 && second.site.clockOffset == .zero)
  }

  @Test func `a clock that no offset helps ends in clockSkew`() async throws {
    let clock = ManualClock()
    let client = ScriptedClient(
      .error(
        403, "RequestTimeTooSkewed", fields: [("Date", Timestamp(seconds: clock.wall().seconds + 7200).httpDate)]))
    let store = try makeStore(client, clock: clock)
    #expect(await storeError { _ = try await store.get(get, into: CollectingSink()) }?.code == .clockSkew)
    #expect(client.requests.count == 2)
  }

  @Test(arguments: ["ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"])
  func `refused keys are read anew and tried once`(code: String) async throws {
    let client = ScriptedClient { request, _ in
      request.field("authorization")?.contains("Credential=K2/") == true ? .object("body") : .error(403, code)
    }
    let store = try makeStore(client, credentials: RotatingCredentials())
    _ = try await store.get(get, into: CollectingSink())
    #expect(client.requests.count == 2)
  }

  @Test func `refused keys that stay the same are not tried again`() async throws {
    let client = ScriptedClient(.error(403, "InvalidAccessKeyId"))
    let store = try makeStore(client)
    let error = await storeError { _ = try await store.get(get, into: CollectingSink()) }
    #expect(error?.code == .credentials && error?.reason == "InvalidAccessKeyId")
    #expect(client.requests.count == 1)
  }

  @Test func `no identity is an error that names the sources, and nothing is sent`() async throws {
    let client = ScriptedClient(.object("body"))
    let store = try makeStore(client, credentials: nobody)
    let error = await storeError { _ = try await store.get(get, into: CollectingSink()) }
    #expect(error?.code == .credentials && error?.message.contains("environment") == true)
    #expect(client.requests.isEmpty)
  }

  @Test func `anonymous requests carry no signature`() async throws {
    let client = ScriptedClient(.object("body"))
    _ = try await makeStore(client, credentials: AnonymousCredentials()).get(get, into: CollectingSink())
    #expect(client.requests[0].field("authorization") == nil && client.requests[0].field("x-amz-date") == nil)
  }

  @Test func `a session token is sent and signed`() async throws {
    let client = ScriptedClient(.object("body"))
    let temporary = FixedCredentials(Credentials(accessKeyID: "A", secretAccessKey: "s", sessionToken: "tok"))
    _ = try await makeStore(client, credentials: temporary).get(get, into: CollectingSink())
    #expect(client.requests[0].field("x-amz-security-token") == "tok")
    #expect(client.requests[0].field("authorization")?.contains("x-amz-date;x-amz-security-token") == true)
  }

  @Test func `a throttled request is asked again by the decorator, with the server's pause`() async throws {
    let client = ScriptedClient { _, index in
      index < 2 ? .error(503, "SlowDown", fields: [("Retry-After", "2")]) : .object("body")
    }
    let pauses = ManualPauses()
    let store = RetryingStore(try makeStore(client), sleep: { pauses.add($0) }, random: { 0 })
    let sink = CollectingSink()
    _ = try await store.get(get, into: sink)
    #expect(sink.text == "body" && pauses.all == [.seconds(2), .seconds(2)])
  }

  @Test func `a body that has begun is not begun again`() async throws {
    let client = ScriptedClient(
      ScriptedAnswer(fields: [("Content-Length", "20")], body: Array("0123456".utf8), error: .interrupted))
    let store = RetryingStore(try makeStore(client), sleep: { _ in })
    #expect(await storeError { _ = try await store.get(get, into: CollectingSink()) }?.code == .interrupted)
    #expect(client.requests.count == 1)
  }
}
