// ListObjectsV2 and HeadBucket: what is sent, and how odd answers end.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("List requests", .timeLimit(.minutes(1)))
struct ListRequestTests {
  private static let empty = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"

  @Test func `a page is asked for in canonical form`() async throws {
    let client = ScriptedClient(ScriptedAnswer(body: Array(Self.empty.utf8)))
    let ledger = Ledger()
    let store = try makeStore(client, endpoint: "http://127.0.0.1:9000", ledger: ledger)
    _ = try await store.list(
      ListRequest(
        prefix: ObjectKey([0x61, 0x2F, 0xFF]), delimited: true, startAfter: ObjectKey("a b"), continuation: "t+/="))
    #expect(
      client.requests[0].url
        == "http://127.0.0.1:9000/bucket?continuation-token=t%2B%2F%3D&delimiter=%2F&encoding-type=url&list-type=2"
        + "&max-keys=1000&prefix=a%2F%FF&start-after=a%20b")
    #expect(ledger.sinceMount.lists == 1)
    #expect(ledger.sinceMount.bytesReceived == Int64(Self.empty.utf8.count))
  }

  @Test(arguments: ["", "<html></html>", "<ListBucketResult><Contents><Key>a</Key>", "not xml"])
  func `a 200 that is no listing is malformed`(body: String) async throws {
    let store = try makeStore(ScriptedClient(ScriptedAnswer(body: Array(body.utf8))))
    let error = await storeError { _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true)) }
    #expect(error?.code == .malformedResponse)
  }

  @Test func `an error document in a 200 is the server's error`() async throws {
    let store = try makeStore(ScriptedClient(.error(200, "InternalError")))
    let error = await storeError { _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true)) }
    #expect(error?.code == .serverError && error?.reason == "InternalError" && error?.isRetryable == true)
  }

  @Test func `no bucket is told from no key`() async throws {
    let store = try makeStore(ScriptedClient(ScriptedAnswer(status: 404)))
    #expect(await storeError { try await store.probe(deadline: nil) }?.code == .noSuchBucket)
    #expect(
      await storeError { _ = try await store.list(ListRequest(prefix: ObjectKey("p/"), delimited: true)) }?.code
        == .noSuchBucket)
    #expect(
      await storeError { _ = try await store.head(HeadRequest(key: ObjectKey("k"))) }?.code == .notFound)
  }

  @Test func `an object listed without a size is asked for it`() async throws {
    let listing = "<ListBucketResult><Contents><Key>k</Key></Contents></ListBucketResult>"
    let client = ScriptedClient { request, _ in
      request.method == .head
        ? ScriptedAnswer(fields: [("Content-Length", "42"), ("ETag", "\"t\"")])
        : ScriptedAnswer(body: Array(listing.utf8))
    }
    let page = try await makeStore(client).list(ListRequest(prefix: ObjectKey(""), delimited: false))
    #expect(page.objects.first?.revision.size == 42 && client.requests.count == 2)
  }

  @Test func `requester pays is said with every request`() async throws {
    let client = ScriptedClient(ScriptedAnswer(body: Array(Self.empty.utf8)))
    let store = try S3Store(
      configuration: S3Configuration(bucket: "bucket", requesterPays: true, credentials: testCredentials),
      transport: client, ledger: Ledger())
    _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: false))
    try await store.probe(deadline: nil)
    for request in client.requests {
      #expect(request.field("x-amz-request-payer") == "requester")
      #expect(request.field("authorization")?.contains("x-amz-request-payer") == true)
    }
  }
}
