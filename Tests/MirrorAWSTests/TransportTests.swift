// The transport against a server that misbehaves, over real sockets.
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@testable import MirrorHTTP

@Suite("Transport", .serialized, .timeLimit(.minutes(1)))
struct TransportTests {
  /// Keeps an answer's head and bytes.
  final class Handler: HTTPResponseHandler {
    private let state = Mutex((head: HTTPHead?.none, bytes: [UInt8]()))
    private let goesOn: Bool
    private let onBody: @Sendable () -> Void
    init(goesOn: Bool = true, onBody: @escaping @Sendable () -> Void = {}) {
      self.goesOn = goesOn
      self.onBody = onBody
    }
    var received: HTTPHead? { state.withLock { $0.head } }
    var bytes: [UInt8] { state.withLock { $0.bytes } }
    func head(_ head: HTTPHead) -> Bool {
      state.withLock { $0.head = head }
      return true
    }
    func body(_ bytes: RawSpan) -> Bool {
      let part = bytes.withUnsafeBytes { Array($0) }
      state.withLock { $0.bytes += part }
      onBody()
      return goesOn
    }
  }

  private func transport(_ change: (inout HTTPSettings) -> Void = { _ in }) throws -> HTTPTransport {
    var settings = HTTPSettings()
    settings.silenceLimit = .seconds(3)
    // On a loaded machine seconds may pass between two requests of one test.
    settings.connectTimeout = .seconds(20)
    settings.idleLimit = .seconds(60)
    change(&settings)
    return try HTTPTransport(settings)
  }

  private func failure(_ body: () async throws -> Void) async -> HTTPError? {
    do {
      try await body()
      return nil
    } catch { return error as? HTTPError }
  }

  @Test func `an answer's head has lower-case names, and its body is whole`() async throws {
    let server = try FakeS3()
    server.put("k", size: 3_000_000, seed: 1)
    let transport = try transport()
    let handler = Handler()
    let summary = try await transport.perform(
      HTTPRequest(.get, url: "\(server.endpoint)/bucket/k", isBulk: true), handler: handler)
    #expect(summary.status == 200 && summary.bodyBytes == 3_000_000 && !summary.wasEnded)
    #expect(handler.bytes == server.bytes("k"))
    #expect(handler.received?.text("content-length") == "3000000")
    #expect(handler.received?.contentLength == 3_000_000)
    #expect(server.requests.first?.fields["accept"] == nil)
    #expect(server.requests.first?.fields["accept-encoding"] == nil)
    transport.close()
  }

  @Test func `a path is sent as it is, and connections are reused`() async throws {
    let server = try FakeS3()
    server.put("a/./b/../c//d", "x")
    let transport = try transport()
    for method in [HTTPRequest.Method.get, .head, .get, .head] {
      let handler = Handler()
      let summary = try await transport.perform(
        HTTPRequest(method, url: "\(server.endpoint)/bucket/a/./b/../c//d"), handler: handler)
      #expect(summary.status == 200)
      #expect(handler.bytes == (method == .get ? Array("x".utf8) : []))
    }
    #expect(server.requests.allSatisfy { $0.target == "/bucket/a/./b/../c//d" })
    #expect(server.connections == 1)
    transport.close()
  }

  @Test func `a closed pooled connection costs no failed request`() async throws {
    let server = try FakeS3()
    server.put("k", "x")
    let transport = try transport()
    for _ in 0..<5 {
      let summary = try await transport.perform(
        HTTPRequest(.get, url: "\(server.endpoint)/bucket/k"), handler: Handler())
      #expect(summary.status == 200)
      server.cutConnections()
    }
    transport.close()
  }

  @Test func `a reset before the first byte of a reused connection is told, and nothing is sent again`() async throws {
    let server = try FakeS3()
    server.put("k", "x")
    let transport = try transport()
    let request = HTTPRequest(.get, url: "\(server.endpoint)/bucket/k")
    _ = try await transport.perform(request, handler: Handler())
    server.inject(.reset, on: .get, times: 1)
    let error = await failure { _ = try await transport.perform(request, handler: Handler()) }
    #expect(error?.kind == .lost && error?.wasSent == true)
    #expect(server.requests.count == 2)
    transport.close()
  }

  @Test func `a refused connection and an unknown name are no connection`() async throws {
    let transport = try transport()
    for url in ["http://127.0.0.1:1/", "http://no-such-host.invalid/"] {
      let error = await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }
      #expect(error?.kind == .connection && error?.wasSent == false)
    }
    transport.close()
  }

  @Test func `a URL that is none is refused before it is sent`() async throws {
    let transport = try transport()
    for url in ["", "ftp://127.0.0.1/x", "http://[::1/"] {
      let error = await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }
      #expect(error?.kind == .invalid && error?.wasSent == false, "\(url)")
    }
    let forged = HTTPRequest(.get, url: "http://127.0.0.1:1/", headers: [HTTPField("x", "a\r\nb: c")])
    #expect(await failure { _ = try await transport.perform(forged, handler: Handler()) }?.kind == .invalid)
    transport.close()
  }

  @Test func `TLS with a server that has none is a failure of trust`() async throws {
    let server = try FakeS3()
    let transport = try transport()
    let error = await failure {
      _ = try await transport.perform(HTTPRequest(.get, url: "https://127.0.0.1:\(server.port)/"), handler: Handler())
    }
    #expect(error?.kind == .tls || error?.kind == .connection)
    #expect(error?.wasSent == false)
    transport.close()
  }

  @Test func `silence before the head and in the body ends a transfer, and so does a drip`() async throws {
    let server = try FakeS3()
    server.put("k", size: 1_000_000, seed: 1)
    let transport = try transport()
    for (fault, bytes) in [
      (Fault.hang, false), (.hangAfter(1000), true), (.throttle(bytesPerSecond: 200), true),
    ] {
      server.inject(fault, on: .get, times: 1)
      let handler = Handler()
      let error = await failure {
        _ = try await transport.perform(HTTPRequest(.get, url: "\(server.endpoint)/bucket/k"), handler: handler)
      }
      #expect(error?.kind == .timeout && error?.wasSent == true)
      #expect((error?.bodyBytes ?? 0 > 0) == bytes)
    }
    server.release()
    transport.close()
  }

  @Test func `the time allowed bounds the wait for an answer, not its body`() async throws {
    let server = try FakeS3()
    server.put("k", size: 200_000, seed: 1)
    server.inject(.throttle(bytesPerSecond: 100_000), on: .get, times: 1)
    let transport = try transport { $0.silenceLimit = .seconds(50) }
    _ = try await transport.perform(
      HTTPRequest(.get, url: "\(server.endpoint)/bucket/k", timeout: .seconds(1)), handler: Handler())
    server.inject(.hang, on: .get)
    let start = ContinuousClock.now
    let error = await failure {
      _ = try await transport.perform(
        HTTPRequest(.get, url: "\(server.endpoint)/bucket/k", timeout: .milliseconds(300)), handler: Handler())
    }
    #expect(error?.kind == .timeout)
    #expect(ContinuousClock.now - start < .seconds(40))
    transport.close()
  }

  @Test func `a body cut short or reset is interrupted`() async throws {
    let server = try FakeS3()
    server.put("k", size: 1_000_000, seed: 1)
    let transport = try transport()
    for fault in [Fault.truncateAfter(1000), .resetAfter(1000)] {
      server.inject(fault, on: .get, times: 1)
      let error = await failure {
        _ = try await transport.perform(HTTPRequest(.get, url: "\(server.endpoint)/bucket/k"), handler: Handler())
      }
      #expect(error?.kind == .interrupted && error?.status == 200 && error?.wasSent == true)
    }
    transport.close()
  }

  @Test func `a handler ends its transfer`() async throws {
    let server = try FakeS3()
    server.put("k", size: 10_000_000, seed: 1)
    let transport = try transport()
    let summary = try await transport.perform(
      HTTPRequest(.get, url: "\(server.endpoint)/bucket/k"), handler: Handler(goesOn: false))
    #expect(summary.wasEnded && summary.bodyBytes < 10_000_000)
    transport.close()
  }

  @Test func `a cancelled task's transfer ends, and an already cancelled one is not sent`() async throws {
    let server = try FakeS3()
    server.put("k", "x")
    server.inject(.hang, on: .get)
    let transport = try transport()
    let url = "\(server.endpoint)/bucket/k"
    let task = Task {
      await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }
    }
    #expect(await server.arrived(1, .get))
    task.cancel()
    let error = await task.value
    #expect(error?.kind == .cancelled && error?.wasSent == true)
    server.clearFaults()
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }
    }
    late.cancel()
    let unsent = await late.value
    #expect(unsent?.kind == .cancelled && unsent?.wasSent == false)
    transport.close()
  }

  @Test func `a closed transport ends what runs and refuses what comes`() async throws {
    let server = try FakeS3()
    server.inject(.hang)
    let transport = try transport { $0.silenceLimit = .seconds(30) }
    let url = "\(server.endpoint)/bucket/k"
    let task = Task {
      await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }
    }
    #expect(await server.arrived(1))
    transport.close()
    #expect(await task.value?.kind == .closed)
    #expect(
      await failure { _ = try await transport.perform(HTTPRequest(.get, url: url), handler: Handler()) }?.kind
        == .closed)
    server.release()
  }

  @Test func `many requests share few connections`() async throws {
    let server = try FakeS3()
    server.put("k", "body")
    let transport = try transport { $0.maximumConnections = 4 }
    let url = "\(server.endpoint)/bucket/k"
    let good = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<500 {
        group.addTask {
          let handler = Handler()
          let summary = try? await transport.perform(HTTPRequest(.get, url: url), handler: handler)
          return summary?.status == 200 && handler.bytes == Array("body".utf8)
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(good == 500)
    #expect(server.connections <= 4)
    transport.close()
  }

  @Test func `what is no HTTP is malformed`() {
    var parser = HTTPHeadParser()
    func step(_ line: String) -> HTTPHead?? {
      switch parser.receive(line: Array(line.utf8)) {
      case .more: .some(nil)
      case .head(let head): head
      case .malformed: nil
      }
    }
    #expect(step("HTTP/1.1 103 Early Hints\r\n") != nil)
    #expect(step("link: x\r\n") != nil)
    guard case .some(nil) = step("\r\n") else {
      Issue.record("an interim answer was taken for the final one")
      return
    }
    _ = step("HTTP/1.1 200\r\n")
    _ = step("X-Odd:  spaced \t\r\n")
    _ = step("no colon\r\n")
    guard case .some(.some(let head)) = step("\r\n") else {
      Issue.record("no head")
      return
    }
    #expect(head.status == 200 && head.text("x-odd") == "spaced" && head.text("link") == nil)
    #expect(step("HTTP/1.1 OK\r\n") == nil)
  }
}
