// The scripted server against what S3 documents: tests that lean on it need it right.
import MirrorPlatform
import MirrorStore
import Testing

@testable import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct `The scripted S3 server` {
  let server: FakeS3
  init() throws { server = try FakeS3() }

  private func ask(
    _ target: String, method: String = "GET", _ fields: [(String, String)] = []
  ) async throws -> (status: Int, fields: Fields, body: [UInt8]) {
    let port = server.port
    let fields = Fields([("Host", "127.0.0.1")] + fields)
    return try await blocking { try exchange(port: port, method: method, target: target, fields: fields) }
  }

  private func list(_ query: String) async throws -> String {
    String(decoding: try await ask("/bucket?list-type=2&\(query)").body, as: UTF8.self)
  }

  private func keys(_ xml: String, _ tag: String = "Key") -> [String] {
    xml.components(between: "<\(tag)>", and: "</\(tag)>")
  }

  @Test func `answers whole objects, ranges and attributes`() async throws {
    server.put("a b+c", "0123456789", modified: 1_700_000_000)
    let whole = try await ask("/bucket/a%20b%2Bc")
    #expect(whole.status == 200)
    #expect(whole.body == Array("0123456789".utf8))
    #expect(whole.fields["etag"] == "\"781e5e245d69b566979b86e28d23f2c7\"")
    #expect(whole.fields["last-modified"] == "Tue, 14 Nov 2023 22:13:20 GMT")
    let part = try await ask("/bucket/a%20b%2Bc", [("Range", "bytes=2-4")])
    #expect(part.status == 206)
    #expect(part.fields["content-range"] == "bytes 2-4/10")
    #expect(part.body == Array("234".utf8))
    #expect(try await ask("/bucket/a%20b%2Bc", [("Range", "bytes=-3")]).body == Array("789".utf8))
    #expect(try await ask("/bucket/a%20b%2Bc", [("Range", "bytes=10-")]).status == 416)
    let head = try await ask("/bucket/a%20b%2Bc", method: "HEAD")
    #expect(head.fields["content-length"] == "10")
    #expect(server.sums.gets == 4)
    #expect(server.sums.heads == 1)
    #expect(server.requests.map(\.bytesSent).prefix(3) == [10, 3, 3])
    #expect(server.requests(.head)[0].bytesSent == 0)
    #expect(server.requests(.get).map(\.range) == [nil, "bytes=2-4", "bytes=-3", "bytes=10-"])
  }

  @Test func `answers conditions`() async throws {
    server.put("k", "x")
    let tag = try #require(server.object("k")?.etag)
    #expect(try await ask("/bucket/k", [("If-None-Match", tag)]).status == 304)
    #expect(try await ask("/bucket/k", [("If-None-Match", "\"other\"")]).status == 200)
    #expect(try await ask("/bucket/k", [("If-Match", "\"other\"")]).status == 412)
    #expect(try await ask("/bucket/k", [("If-Match", tag)]).status == 200)
    #expect(server.sums.notModified == 1)
    #expect(server.sums.failed == 0)
  }

  @Test func `says what is missing`() async throws {
    #expect(String(decoding: try await ask("/bucket/none").body, as: UTF8.self).contains("<Code>NoSuchKey</Code>"))
    #expect(String(decoding: try await ask("/else/none").body, as: UTF8.self).contains("<Code>NoSuchBucket</Code>"))
    #expect(try await ask("/bucket", method: "HEAD").status == 200)
    #expect(try await ask("/else", method: "HEAD").status == 404)
    server.configure { $0.requiresSignature = true }
    #expect(try await ask("/bucket/none").status == 403)
    #expect(try await ask("/bucket/none", method: "PUT").status == 403)
  }

  @Test func `lists in byte order, with groups and pages`() async throws {
    for key in ["b", "a/2", "a-", "a/1", "a", "c/d/e", "é", "z z"] { server.put(key, "1") }
    #expect(keys(try await list("")) == ["a", "a-", "a/1", "a/2", "b", "c/d/e", "z z", "é"])
    let grouped = try await list("delimiter=%2F&encoding-type=url")
    #expect(keys(grouped) == ["a", "a-", "b", "z+z", "%C3%A9"])
    #expect(
      keys(grouped, "CommonPrefixes").map { $0.components(between: "<Prefix>", and: "</Prefix>") } == [["a/"], ["c/"]])
    #expect(keys(try await list("prefix=a%2F")) == ["a/1", "a/2"])
    #expect(keys(try await list("start-after=a%2F1")) == ["a/2", "b", "c/d/e", "z z", "é"])
    #expect(keys(try await list("start-after=a%2F1&delimiter=%2F"), "CommonPrefixes").count == 1)

    server.configure { $0.pageSize = 2 }
    var seen: [String] = []
    var token: String?
    repeat {
      let page = try await list("delimiter=%2F" + (token.map { "&continuation-token=\($0)" } ?? ""))
      seen += keys(page) + keys(page, "CommonPrefixes").flatMap { $0.components(between: "<Prefix>", and: "</Prefix>") }
      token = keys(page, "NextContinuationToken").first
    } while token != nil
    #expect(seen.sorted() == ["a", "a-", "a/", "b", "c/", "z z", "é"].sorted())
    #expect(server.sums.lists == 9)
  }

  @Test func `a made-up body has the bytes its pattern says`() async throws {
    server.put("big", size: 5 << 30, seed: 7)
    let answer = try await ask("/bucket/big", [("Range", "bytes=4294967290-4294967309")])
    let pattern = FakeBody.Pattern(seed: 7)
    #expect(answer.body == (0..<20).map { pattern[4_294_967_290 + $0] })
    #expect(answer.fields["content-range"] == "bytes 4294967290-4294967309/5368709120")
  }

  @Test func `faults meet the requests they name, as often as said`() async throws {
    server.put("k", "0123456789")
    server.inject(.slowDown(retryAfter: "2"), on: .get, key: "k", skip: 1, times: 1)
    #expect(try await ask("/bucket/k").status == 200)
    let slow = try await ask("/bucket/k")
    #expect(slow.status == 503)
    #expect(slow.fields["retry-after"] == "2")
    #expect(try await ask("/bucket/k").status == 200)
    server.inject(.truncateAfter(4), times: 1)
    await #expect(throws: SystemFailure.self) { try await ask("/bucket/k") }
    server.inject(.reset, times: 1)
    await #expect(throws: SystemFailure.self) { try await ask("/bucket/k") }
    server.inject(.corrupt(at: 1), .field("X-Extra", "1"), .field("ETag", nil), times: 1)
    let torn = try await ask("/bucket/k")
    #expect(torn.body[1] == UInt8(ascii: "1") ^ 0xFF)
    #expect(torn.fields["x-extra"] == "1")
    #expect(torn.fields["etag"] == nil)
    server.inject(.ignoreRange, times: 1)
    #expect(try await ask("/bucket/k", [("Range", "bytes=0-1")]).status == 200)
    server.inject(.chunked, times: 1)
    #expect(try await ask("/bucket/k").body == Array("0123456789".utf8))
    server.inject(.html, times: 1)
    #expect(try await ask("/bucket/k").fields["content-type"] == "text/html")
    #expect(server.sums.failed == 2)
  }

  @Test func `what hangs goes on when released, with the object it began with`() async throws {
    server.put("k", "0123456789")
    server.inject(.hangAfter(5), on: .get, times: 1)
    async let answer = ask("/bucket/k")
    #expect(await server.arrived(1, .get))
    #expect(await eventually { server.requests[0].bytesSent == 5 })
    server.put("k", "replaced")
    server.release()
    #expect(try await answer.body == Array("0123456789".utf8))
    #expect(try await ask("/bucket/k").body == Array("replaced".utf8))
  }

  @Test func `refuses, swallows, and comes back at the same port`() async throws {
    server.put("k", "x")
    server.mode = .refuse
    await #expect(throws: SystemFailure.self) { try await ask("/bucket/k") }
    server.mode = .ok
    #expect(try await ask("/bucket/k").status == 200)
    server.mode = .blackhole
    async let lost = try? ask("/bucket/k")
    #expect(await eventually { server.connections == 2 })
    server.mode = .ok
    #expect(await lost == nil)
    #expect(try await ask("/bucket/k").status == 200)
    #expect(server.sums.gets == 2)
  }
}

extension String {
  /// The texts between two marks, in order.
  fileprivate func components(between start: String, and end: String) -> [String] {
    var found: [String] = []
    var rest = self[...]
    while let from = rest.firstRange(of: start) {
      rest = rest[from.upperBound...]
      guard let to = rest.firstRange(of: end) else { break }
      found.append(String(rest[..<to.lowerBound]))
      rest = rest[to.upperBound...]
    }
    return found
  }
}
