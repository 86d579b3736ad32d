// Versions: how they are asked for, and listings of them as servers really send them.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Versions", .timeLimit(.minutes(1)))
struct VersionsTests {
  private static let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"

  private func request(_ prefix: String = "", after: String? = nil, token: String? = nil) -> ListRequest {
    var request = ListRequest(
      prefix: ObjectKey(prefix), delimited: false, startAfter: after.map { ObjectKey($0) }, continuation: token)
    request.ofVersions = true
    return request
  }

  private func client(_ listing: String) -> ScriptedClient {
    ScriptedClient { request, _ in
      ScriptedAnswer(body: Array((request.url.contains("?versioning=") ? Self.enabled : listing).utf8))
    }
  }

  private func version(
    _ key: String, _ id: String, _ time: String, deleted: Bool = false, size: Int = 3
  ) -> String {
    let name = deleted ? "DeleteMarker" : "Version"
    return "<\(name)><Key>\(key)</Key><VersionId>\(id)</VersionId><LastModified>\(time)</LastModified>"
      + (deleted ? "" : "<ETag>&quot;\(id)&quot;</ETag><Size>\(size)</Size><StorageClass>STANDARD</StorageClass>")
      + "<Owner><ID>x</ID></Owner></\(name)>"
  }

  private func page(_ entries: String, _ more: String = "") -> String {
    "<ListVersionsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
      + "<EncodingType>url</EncodingType>\(more)\(entries)</ListVersionsResult>"
  }

  @Test func `a page of versions is asked for, read and counted`() async throws {
    let client = client(
      page(
        version("a+b", "2", "2026-11-30T11:26:57.250Z") + version("a+b", "1", "2026-11-30T10:00:00.000Z")
          + version("c%2Fd", "3", "2026-11-30T10:00:01Z", deleted: true)
          + "<CommonPrefixes><Prefix>e/</Prefix></CommonPrefixes>",
        "<IsTruncated>true</IsTruncated><NextKeyMarker>c%2Fd</NextKeyMarker><NextVersionIdMarker>3</NextVersionIdMarker>"
      ))
    let ledger = Ledger()
    let store = try makeStore(client, endpoint: "http://127.0.0.1:9000", ledger: ledger)
    let page = try await store.list(request("p q", after: "a/"))
    #expect(client.requests[0].url == "http://127.0.0.1:9000/bucket?versioning=")
    #expect(
      client.requests[1].url
        == "http://127.0.0.1:9000/bucket?encoding-type=url&key-marker=a%2F&max-keys=1000&prefix=p%20q&versions=")
    #expect(ledger.sinceMount.lists == 1 && ledger.sinceMount.others == 1)
    #expect(page.versions.map(\.object.key) == [ObjectKey("a b"), ObjectKey("a b"), ObjectKey("c/d")])
    #expect(page.versions.map(\.object.revision.version) == ["2", "1", "3"])
    #expect(page.versions.map(\.isDeleteMarker) == [false, false, true])
    #expect(page.versions[0].time.milliseconds % 1000 == 250)
    #expect(page.versions[0].object.revision.etag == EntityTag("\"2\"") && page.versions[0].object.revision.size == 3)
    #expect(page.prefixes == [ObjectKey("e/")] && page.objects.isEmpty)

    // The bucket is asked once whether it keeps versions; the token leads on.
    _ = try await store.list(request("p q", token: page.next))
    #expect(client.requests.count == 3)
    #expect(
      client.requests[2].url.contains("key-marker=c%2Fd&") && client.requests[2].url.contains("version-id-marker=3"))
  }

  @Test func `marks of deletion that come after all versions are put where they belong`() async throws {
    let listing = page(
      version("a", "3", "2026-11-30T03:00:00.000Z") + version("a", "1", "2026-11-30T01:00:00.000Z")
        + version("b", "1", "2026-11-30T01:00:00.000Z") + version("a", "2", "2026-11-30T02:00:00.000Z", deleted: true)
        + version("b", "4", "2026-11-30T04:00:00.000Z", deleted: true), "<IsTruncated>false</IsTruncated>")
    let found = try await makeStore(client(listing)).list(request())
    #expect(
      found.versions.map { "\($0.object.key)\($0.object.revision.version ?? "")" } == ["a3", "a2", "a1", "b4", "b1"])
    #expect(found.next == nil)
  }

  @Test(arguments: [
    "<VersioningConfiguration/>", "<VersioningConfiguration><MfaDelete>Disabled</MfaDelete></VersioningConfiguration>",
  ])
  func `a bucket that never kept versions has no past`(answer: String) async throws {
    let client = ScriptedClient(ScriptedAnswer(body: Array(answer.utf8)))
    let store = try makeStore(client)
    #expect(await storeError { _ = try await store.list(request()) }?.code == .unversioned)
    #expect(client.requests.count == 1)
  }

  @Test(arguments: [403, 405, 501])
  func `who may not ask whether versions are kept is taken to know`(status: Int) async throws {
    let listing = page("", "<IsTruncated>false</IsTruncated>")
    let client = ScriptedClient { request, _ in
      request.url.contains("versioning=")
        ? .error(status, status == 501 ? "NotImplemented" : "AccessDenied")
        : ScriptedAnswer(body: Array(listing.utf8))
    }
    #expect(try await makeStore(client).list(request()).versions.isEmpty)
  }

  @Test func `an object is asked for by the id of its version, without a condition`() async throws {
    let client = ScriptedClient(.object("hello", etag: "\"t\"", fields: [("x-amz-version-id", "null")]))
    let store = try makeStore(client, endpoint: "http://127.0.0.1:9000")
    let sink = CollectingSink()
    let condition = Condition.ifMatch(EntityTag("\"t\""))
    _ = try await store.get(GetRequest(key: ObjectKey("k"), version: "null", condition: condition), into: sink)
    #expect(client.requests[0].url == "http://127.0.0.1:9000/bucket/k?versionId=null")
    #expect(client.requests[0].field("if-match") == nil)
    #expect(sink.head?.revision.version == "null")
    _ = try await store.get(GetRequest(key: ObjectKey("k"), condition: condition), into: sink)
    #expect(sink.head?.revision.version == nil)
    // It is compared here.
    let other = GetRequest(key: ObjectKey("k"), version: "v", condition: .ifMatch(EntityTag("\"u\"")))
    #expect(await storeError { _ = try await store.get(other, into: CollectingSink()) }?.code == .preconditionFailed)
  }

  @Test(arguments: [
    "", "<ListVersionsResult><Version><Key>a</Key>", "<ListBucketResult></ListBucketResult>",
    "<ListVersionsResult><Version><Key>a</Key><LastModified>2026-11-30T10:00:00Z</LastModified></Version>"
      + "</ListVersionsResult>",
  ])
  func `a 200 that is no listing of versions is malformed`(body: String) async throws {
    let store = try makeStore(client(body))
    #expect(await storeError { _ = try await store.list(request()) }?.code == .malformedResponse)
  }
}
