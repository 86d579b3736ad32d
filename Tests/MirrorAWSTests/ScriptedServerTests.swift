// Store, transport and decorator together against a scripted server: odd servers over real sockets.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Scripted server", .timeLimit(.minutes(1)))
struct ScriptedServerTests {
  private let get = GetRequest(key: ObjectKey("k"))

  private func settings() -> HTTPSettings {
    var settings = HTTPSettings()
    settings.silenceLimit = .seconds(2)
    return settings
  }

  @Test func `the ledger counts what the server saw`() async throws {
    let server = try FakeS3()
    server.put("k", size: 100_000, seed: 3)
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let ledger = Ledger()
    let store = RetryingStore(
      try makeStore(transport, endpoint: server.endpoint, ledger: ledger), sleep: { _ in }, random: { 0 })
    server.inject(.slowDown(), on: .get, times: 1)
    server.inject(.status(500, code: "InternalError"), on: .list, times: 1)
    let tag = try await store.head(HeadRequest(key: ObjectKey("k"))).revision.etag
    _ = try await store.get(get, into: CollectingSink())
    _ = try await store.get(
      GetRequest(key: ObjectKey("k"), condition: .ifNoneMatch(try #require(tag))), into: CollectingSink())
    _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true))
    _ = await storeError { _ = try await store.head(HeadRequest(key: ObjectKey("none"))) }
    let sums = server.sums
    let counts = ledger.sinceMount
    #expect(counts.gets == sums.gets && counts.gets == 3)
    #expect(counts.heads == sums.heads && counts.lists == sums.lists && counts.lists == 2)
    #expect(counts.notModified == sums.notModified && counts.failed == sums.failed)
    #expect(counts.bytesReceived == sums.bodyBytes)
  }

  @Test(arguments: [1, 4])
  func `what is asked again because a kept connection ended is counted and paid for`(times: Int) async throws {
    let server = try FakeS3()
    server.put("k", "content")
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let ledger = Ledger()
    let store = try makeStore(transport, endpoint: server.endpoint, ledger: ledger)
    _ = try await store.get(get, into: CollectingSink())
    server.inject(.reset, on: .get, times: times)
    let error = await storeError { _ = try await store.get(get, into: CollectingSink()) }
    // Once is no fault of the server's, which may have thought the connection idle; over a new one it is.
    #expect(error?.code == (times == 1 ? nil : .interrupted))
    #expect(server.sums.gets == 3)
    #expect(ledger.sinceMount.gets == 3)
  }

  @Test func `a server that knows neither ranges nor conditions nor encoding is read right`() async throws {
    let server = try FakeS3()
    server.put("k", "0123456789")
    server.put("odd\u{1}\u{1F}&<", "x")
    server.configure {
      $0.knowsEncodingType = false
      $0.chunkedLists = true
      $0.describesNotModified = false
    }
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    let page = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: false))
    #expect(page.objects.map(\.key) == [ObjectKey("k"), ObjectKey("odd\u{1}\u{1F}&<")])
    let tag = try #require(page.objects[0].revision.etag)

    server.inject(.ignoreRange, .ignoreIfMatch, .ignoreIfNoneMatch)
    let whole = CollectingSink()
    guard
      case .delivered(let head) = try await store.get(
        GetRequest(key: ObjectKey("k"), range: ByteRange(2, 4), condition: .ifMatch(tag)), into: whole)
    else {
      Issue.record("not delivered")
      return
    }
    #expect(head.isWhole && whole.text == "0123456789")
    guard
      case .notModified = try await store.get(
        GetRequest(key: ObjectKey("k"), condition: .ifNoneMatch(tag)), into: CollectingSink())
    else {
      Issue.record("modified")
      return
    }
  }

  @Test func `a damaged body is told at the first GET`() async throws {
    let server = try FakeS3()
    server.put("k", "0123456789")
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    server.inject(.corrupt(at: 3), on: .get, times: 1)
    #expect(await storeError { _ = try await store.get(get, into: CollectingSink()) }?.code == .checksumMismatch)
    _ = try await store.get(get, into: CollectingSink())
  }

  @Test(arguments: [true, false], [true, false])
  func `a server that lists by version 1 only is listed whole`(delimited: Bool, encoded: Bool) async throws {
    let server = try FakeS3()
    var expected: [String] = []
    for index in 0..<25 {
      let name = "d\(index % 3 == 0 ? "/" : "")k \(index)+é"
      server.put(name, "x")
      expected.append(name)
    }
    server.configure {
      $0.knowsListVersion2 = false
      $0.knowsEncodingType = encoded
      $0.pageSize = 4
    }
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    var seen: [String] = []
    var token: String?
    repeat {
      let page = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: delimited, continuation: token))
      seen += page.objects.map { "\($0.key)" } + page.prefixes.map { "\($0)" }
      token = page.next
    } while token != nil && seen.count < 100
    if delimited { expected = expected.filter { !$0.hasPrefix("d/") } + ["d/"] }
    #expect(seen.sorted() == expected.sorted())
    // Where to begin is said in its words too, also by a store that does not know yet.
    let other = try makeStore(transport, endpoint: server.endpoint)
    let page = try await other.list(
      ListRequest(prefix: ObjectKey("d/"), delimited: false, startAfter: ObjectKey("d/k 3+é")))
    #expect(page.objects.map { "\($0.key)" } == ["d/k 6+é", "d/k 9+é"])
  }

  @Test func `an unchanged object of a server that ignores If-None-Match is not sent over and over`() async throws {
    let server = try FakeS3()
    server.put("k", size: 1_000_000, seed: 3)
    server.inject(.ignoreIfNoneMatch)
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    let tag = try #require(try await store.head(HeadRequest(key: ObjectKey("k"))).revision.etag)
    for _ in 0..<3 {
      guard
        case .notModified = try await store.get(
          GetRequest(key: ObjectKey("k"), condition: .ifNoneMatch(tag)), into: CollectingSink())
      else {
        Issue.record("modified")
        return
      }
    }
    #expect(server.sums.gets == 1 && server.sums.heads == 3)
    server.put("k", "new content")
    let sink = CollectingSink()
    _ = try await store.get(GetRequest(key: ObjectKey("k"), condition: .ifNoneMatch(tag)), into: sink)
    #expect(sink.text == "new content")
  }

  @Test func `a portal's page is never a listing`() async throws {
    let server = try FakeS3()
    let transport = try HTTPTransport(settings())
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    server.inject(.html, on: .list, times: 1)
    let error = await storeError { _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true)) }
    #expect(error?.code == .malformedResponse)
    server.inject(.truncateAfter(60), on: .list, times: 1)
    let cut = await storeError { _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true)) }
    #expect(cut?.code == .interrupted)
  }
}
