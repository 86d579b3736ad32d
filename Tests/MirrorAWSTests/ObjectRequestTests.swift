// GetObject and HeadObject: what is sent, and what of the answer is believed.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Objects", .timeLimit(.minutes(1)))
struct ObjectRequestTests {
  private let key = ObjectKey("dir/a b")

  @Test func `a whole object is delivered, verified and counted`() async throws {
    let client = ScriptedClient(
      .object(
        "hello world",
        fields: [
          ("Last-Modified", "Mon, 30 Nov 2026 11:26:57 GMT"), ("x-amz-version-id", "v1"),
          ("Content-Type", "text/plain"),
          ("x-amz-storage-class", "GLACIER_IR"), ("Cache-Control", "max-age=5"), ("Expires", "0"),
        ]))
    let ledger = Ledger()
    let store = try makeStore(client, ledger: ledger)
    let sink = CollectingSink()
    guard case .delivered(let head) = try await store.get(GetRequest(key: key), into: sink) else {
      Issue.record("not delivered")
      return
    }
    #expect(sink.text == "hello world")
    #expect(head.isWhole && head.metadata.etagIsMD5)
    #expect(head.revision == ObjectRevision(etag: head.revision.etag, size: 11, modified: 1_796_038_017, version: "v1"))
    #expect(head.revision.version == "v1" && head.metadata.storageClass == "GLACIER_IR")
    #expect(head.metadata.contentType == "text/plain" && head.metadata.caching.cacheControl == "max-age=5")
    #expect(ledger.sinceMount.gets == 1 && ledger.sinceMount.bytesReceived == 11 && ledger.sinceMount.failed == 0)
    let request = try #require(client.requests.first)
    #expect(request.url == "https://bucket.s3.us-east-1.amazonaws.com/dir/a%20b")
    #expect(request.field("x-amz-checksum-mode") == "ENABLED")
    #expect(
      request.field("authorization")?.contains("SignedHeaders=host;x-amz-checksum-mode;x-amz-content-sha256;x-amz-date")
        == true)
  }

  @Test func `a range is asked for and its part accepted`() async throws {
    let client = ScriptedClient(
      ScriptedAnswer(
        status: 206, fields: [("Content-Length", "4"), ("Content-Range", "bytes 2-5/10"), ("ETag", "\"t\"")],
        body: Array("cdef".utf8)))
    let store = try makeStore(client)
    let sink = CollectingSink()
    let outcome = try await store.get(
      GetRequest(key: key, range: ByteRange(2, 6), condition: .ifMatch(EntityTag("\"t\""))), into: sink)
    guard case .delivered(let head) = outcome else {
      Issue.record("not delivered")
      return
    }
    #expect(head.start == 2 && head.end == 6 && head.revision.size == 10 && !head.isWhole)
    #expect(sink.text == "cdef")
    #expect(client.requests[0].field("range") == "bytes=2-5")
    #expect(client.requests[0].field("if-match") == "\"t\"")
    #expect(!client.requests[0].isBulk)
  }

  @Test func `a server that ignores the range sends the whole, from 0`() async throws {
    let store = try makeStore(ScriptedClient(.object("0123456789")))
    let sink = CollectingSink()
    guard case .delivered(let head) = try await store.get(GetRequest(key: key, range: ByteRange(2, 6)), into: sink)
    else {
      Issue.record("not delivered")
      return
    }
    #expect(head.start == 0 && head.end == 10 && sink.text == "0123456789")
  }

  @Test(arguments: [
    "bytes 3-5/10", "bytes 2-4/10", "bytes 2-5/*", "bytes */10", "2-5/10", "bytes 2-5/4", "", "bytes 5-2/10",
    "bytes 2-5/9223372036854775807",
  ])
  func `a part that is not the one asked for is refused unseen`(range: String) async throws {
    let store = try makeStore(
      ScriptedClient(
        ScriptedAnswer(status: 206, fields: [("Content-Length", "4"), ("Content-Range", range)], body: [1, 2, 3, 4])))
    let sink = CollectingSink()
    let error = await storeError { _ = try await store.get(GetRequest(key: key, range: ByteRange(2, 6)), into: sink) }
    #expect(error?.code == .malformedResponse)
    #expect(sink.head == nil)
  }

  @Test func `a length that contradicts the range, or none, is malformed`() async throws {
    for fields in [
      [("Content-Range", "bytes 2-5/10"), ("Content-Length", "40")], [("Content-Encoding", "gzip")],
      [("Content-Length", "9223372036854775807")],
    ] {
      let status = fields.count == 2 ? 206 : 200
      let store = try makeStore(ScriptedClient(ScriptedAnswer(status: status, fields: fields, body: [1])))
      let range = status == 206 ? ByteRange(2, 6) : nil
      let error = await storeError {
        _ = try await store.get(GetRequest(key: key, range: range), into: CollectingSink())
      }
      #expect(error?.code == .malformedResponse)
    }
  }

  @Test func `304 is not modified, with or without fields`() async throws {
    for fields in [[], [("Last-Modified", "Mon, 30 Nov 2026 11:26:57 GMT")]] {
      let client = ScriptedClient(ScriptedAnswer(status: 304, fields: fields))
      let ledger = Ledger()
      let store = try makeStore(client, ledger: ledger)
      let tag = EntityTag("\"d41d8cd98f00b204e9800998ecf8427e\"")
      let sink = CollectingSink()
      guard
        case .notModified(let modified, _) = try await store.get(
          GetRequest(key: key, condition: .ifNoneMatch(tag)), into: sink)
      else {
        Issue.record("not 304")
        return
      }
      #expect(modified == (fields.isEmpty ? nil : 1_796_038_017))
      #expect(client.requests[0].field("if-none-match") == "\"d41d8cd98f00b204e9800998ecf8427e\"")
      #expect(ledger.sinceMount.notModified == 1 && sink.head == nil)
    }
  }

  @Test func `an answer's caching fields are told, also those of a 304`() async throws {
    let fields = [
      ("Cache-Control", "max-age=5"), ("Cache-Control", "must-revalidate"), ("Cache-Control-Extra", "no-store"),
      ("Expires", "0"), ("Age", "3"), ("Date", "Mon, 30 Nov 2026 11:26:57 GMT"),
    ]
    let expected = CachingFields(
      cacheControl: "max-age=5,must-revalidate", expires: "0", age: "3", date: "Mon, 30 Nov 2026 11:26:57 GMT")
    let request = GetRequest(key: key, condition: .ifNoneMatch(EntityTag("\"t\"")))
    let unchanged = try makeStore(ScriptedClient(ScriptedAnswer(status: 304, fields: fields)))
    guard case .notModified(_, let caching) = try await unchanged.get(request, into: CollectingSink()) else {
      Issue.record("not 304")
      return
    }
    #expect(caching == expected)
    let changed = try makeStore(ScriptedClient(.object("new", fields: fields)))
    guard case .delivered(let head) = try await changed.get(request, into: CollectingSink()) else {
      Issue.record("not delivered")
      return
    }
    #expect(head.metadata.caching == expected)
  }

  @Test func `a 200 with the tag that should not match is not modified`() async throws {
    let store = try makeStore(ScriptedClient(.object("same", etag: "\"t\"")))
    let sink = CollectingSink()
    let request = GetRequest(key: key, condition: .ifNoneMatch(EntityTag("\"t\"")))
    guard case .notModified = try await store.get(request, into: sink) else {
      Issue.record("taken for a change")
      return
    }
    #expect(sink.head == nil && sink.bytes.isEmpty)
  }

  @Test func `a 200 with another tag than must match is a failed precondition`() async throws {
    let store = try makeStore(ScriptedClient(.object("other", etag: "\"u\"")))
    let sink = CollectingSink()
    let request = GetRequest(key: key, condition: .ifMatch(EntityTag("\"t\"")))
    let error = await storeError { _ = try await store.get(request, into: sink) }
    #expect(error?.code == .preconditionFailed)
    #expect(sink.head == nil)
  }

  @Test func `a short body is interrupted and a long one malformed`() async throws {
    for (length, code) in [("20", StoreError.Code.interrupted), ("3", .malformedResponse)] {
      let store = try makeStore(
        ScriptedClient(ScriptedAnswer(fields: [("Content-Length", length)], body: Array("0123456789".utf8))))
      let error = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(error?.code == code)
    }
  }

  @Test func `bytes that differ from the digest are a mismatch`() async throws {
    let md5 = "\"5eb63bbbe01eeed093cb22bb8f5acdc3\""
    let sha256 = "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="
    let sha1 = "Kq5sNclPz7QV2+lfQIuc6R7oRu0="
    let checks = [("crc32", "DUoRhQ=="), ("crc32c", "yZRlqg=="), ("crc64nvme", "jSnVw/bqjr4=")]
    let damaged: [ScriptedAnswer] =
      [
        .object("hello worlD", etag: md5),
        .object(
          "hello worlD", etag: "\"x-2\"",
          fields: [("x-amz-checksum-sha256", sha256), ("x-amz-checksum-type", "FULL_OBJECT")]),
        .object(
          "hello worlD", etag: "\"x-2\"",
          fields: [("x-amz-checksum-sha1", sha1), ("x-amz-checksum-type", "FULL_OBJECT")]
        ),
      ]
      + checks.map { name, value in
        .object(
          "hello worlD", etag: "\"x-2\"",
          fields: [("x-amz-checksum-\(name)", value), ("x-amz-checksum-type", "FULL_OBJECT")])
      }
    for answer in damaged {
      let client = ScriptedClient(answer)
      let store = try makeStore(client)
      let error = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(error?.code == .checksumMismatch)
      #expect(error?.message.contains("should be") == true && error?.subject == "bucket/dir/a b")
      // Whoever asks again does so over another connection, once.
      _ = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(client.requests.map(\.isFresh) == [false, true])
      var sound = answer
      sound.body = Array("hello world".utf8)
      guard
        case .delivered = try await makeStore(ScriptedClient(sound)).get(GetRequest(key: key), into: CollectingSink())
      else {
        Issue.record("a sound body is refused")
        return
      }
    }
  }

  @Test(arguments: [
    [("x-amz-server-side-encryption", "aws:kms")], [("x-amz-server-side-encryption-customer-algorithm", "AES256")],
    [
      ("x-amz-checksum-sha256", "klO+rIGEBmpS+FYbl0V177NZOk8sR9bZjF+0fMGntig=-2"), ("x-amz-checksum-type", "COMPOSITE"),
      ("ETag", "\"y-2\""),
    ],
  ]) func `a tag or sum that is not of the bytes is not compared`(fields: [(String, String)]) async throws {
    let answer = ScriptedAnswer(
      fields: fields + [("Content-Length", "5"), ("ETag", "\"5eb63bbbe01eeed093cb22bb8f5acdc3\"")],
      body: Array("other".utf8))
    guard
      case .delivered(let head) = try await makeStore(ScriptedClient(answer)).get(
        GetRequest(key: key), into: CollectingSink())
    else {
      Issue.record("refused")
      return
    }
    #expect(!head.metadata.etagIsMD5)
    #expect(head.metadata.checksums.isEmpty)
  }

  @Test func `a server whose tags are no MD5s is found out with one more GET`() async throws {
    let client = ScriptedClient(.object("bytes", etag: "\"00112233445566778899aabbccddeeff\""))
    let store = try makeStore(client, endpoint: "http://127.0.0.1:9000")
    for _ in 0..<3 {
      guard case .delivered = try await store.get(GetRequest(key: key), into: CollectingSink()) else {
        Issue.record("refused")
        return
      }
    }
    #expect(client.requests.count == 4)
  }

  @Test func `damage is told from a tag that is no MD5, whichever comes first`() async throws {
    let sound = ScriptedAnswer.object("hello world")
    var damaged = sound
    damaged.body = Array("hello worlD".utf8)
    let client = ScriptedClient(damaged, sound, sound, damaged, sound)
    let store = try makeStore(client, endpoint: "http://127.0.0.1:9000")
    for expected in [StoreError.Code.checksumMismatch, nil, .checksumMismatch] {
      let error = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(error?.code == expected)
    }
    #expect(client.requests.count == 5)
  }

  @Test func `a sink may end the transfer at its head or in its body`() async throws {
    for sink in [CollectingSink(refusesHead: true), CollectingSink(limit: 3)] {
      let store = try makeStore(ScriptedClient(.object("hello world")))
      guard case .ended = try await store.get(GetRequest(key: key), into: sink) else {
        Issue.record("went on")
        return
      }
      #expect(sink.bytes.count < 11)
    }
  }

  @Test func `HEAD gives attributes and refuses an answer without a length`() async throws {
    let client = ScriptedClient(.object("hello", fields: [("ETag", "\"\"")]))
    let metadata = try await makeStore(client).head(HeadRequest(key: key))
    #expect(metadata.revision.size == 5)
    #expect(client.requests[0].method == .head)
    #expect(client.requests[0].field("x-amz-checksum-mode") == nil)
    let error = await storeError {
      _ = try await makeStore(ScriptedClient(ScriptedAnswer())).head(HeadRequest(key: key))
    }
    #expect(error?.code == .malformedResponse)
  }

  @Test func `a page that says nothing of an object and is not S3's is none`() async throws {
    let page = ScriptedAnswer(
      fields: [("Content-Length", "5"), ("Content-Type", "text/html")], body: Array("login".utf8), isForeign: true)
    let sink = CollectingSink()
    let got = await storeError { _ = try await makeStore(ScriptedClient(page)).get(GetRequest(key: key), into: sink) }
    #expect(got?.code == .malformedResponse)
    let seen = await storeError { _ = try await makeStore(ScriptedClient(page)).head(HeadRequest(key: key)) }
    #expect(seen?.code == .malformedResponse)
  }

  @Test func `an empty tag is no tag`() async throws {
    let answer = ScriptedAnswer(fields: [("Content-Length", "1"), ("ETag", "\"\"")])
    #expect(try await makeStore(ScriptedClient(answer)).head(HeadRequest(key: key)).revision.etag == nil)
  }

  @Test func `an empty key and an empty range ask nothing`() async throws {
    let client = ScriptedClient(ScriptedAnswer())
    let store = try makeStore(client)
    let requests = [GetRequest(key: ObjectKey("")), GetRequest(key: key, range: ByteRange(5, 5))]
    for request in requests {
      let error = await storeError { _ = try await store.get(request, into: CollectingSink()) }
      #expect(error?.code == .invalidRequest)
    }
    #expect(client.requests.isEmpty)
  }

  @Test func `a passed deadline asks nothing, a later one bounds the transfer`() async throws {
    let clock = ManualClock()
    let client = ScriptedClient(.object("x"))
    let store = try makeStore(client, clock: clock)
    let error = await storeError {
      _ = try await store.get(GetRequest(key: key, deadline: clock.now()), into: CollectingSink())
    }
    #expect(error?.code == .timeout && client.requests.isEmpty)
    _ = try await store.get(GetRequest(key: key, deadline: clock.now() + .seconds(7)), into: CollectingSink())
    #expect(client.requests.first?.timeout == .seconds(7))
  }

  @Test func `failures of the transport keep their kind, and only what was sent is counted`() async throws {
    let kinds: [(HTTPError.Kind, StoreError.Code)] = [
      (.connection, .unreachable), (.tls, .tls), (.timeout, .timeout), (.interrupted, .interrupted),
      (.malformed, .malformedResponse), (.cancelled, .cancelled), (.closed, .cancelled), (.invalid, .invalidRequest),
    ]
    for (kind, code) in kinds {
      let ledger = Ledger()
      let store = try makeStore(ScriptedClient(ScriptedAnswer(status: 0, error: kind)), ledger: ledger)
      let error = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(error?.code == code)
      #expect(ledger.sinceMount.total == 0)
    }
    let ledger = Ledger()
    let cut = ScriptedAnswer(fields: [("Content-Length", "20")], body: Array("0123456".utf8), error: .interrupted)
    _ = await storeError {
      _ = try await makeStore(ScriptedClient(cut), ledger: ledger).get(GetRequest(key: key), into: CollectingSink())
    }
    #expect(ledger.sinceMount.gets == 1 && ledger.sinceMount.bytesReceived == 7)
  }
}
