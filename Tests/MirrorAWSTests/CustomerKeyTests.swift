// Objects that are encrypted with the user's own keys, among others that are not.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Customer keys", .timeLimit(.minutes(1)))
struct CustomerKeyTests {
  private static let header = "x-amz-server-side-encryption-customer-key"
  private let one = [UInt8](repeating: 1, count: 32)
  private let two = [UInt8](repeating: 2, count: 32)

  /// `a/` is encrypted with the first key, `b/` with the second, `c/` with none of ours, others not at all.
  private func server() -> ScriptedClient {
    let (one, two) = (one, two)
    return ScriptedClient { request, _ in
      let path = request.url.split(separator: "/").dropFirst(2).joined(separator: "/")
      let wanted =
        path.hasPrefix("a/") ? base64(one) : path.hasPrefix("b/") ? base64(two) : path.hasPrefix("c/") ? "other" : nil
      let sent = request.field(Self.header)
      if sent == wanted {
        let fields = wanted == nil ? [] : [("x-amz-server-side-encryption-customer-algorithm", "AES256")]
        return .object("content", etag: wanted == nil ? nil : "\"0123456789abcdef0123456789abcdef\"", fields: fields)
      }
      if request.method == .head { return ScriptedAnswer(status: sent != nil && wanted != nil ? 403 : 400) }
      if wanted == nil {
        return ScriptedAnswer(
          status: 400,
          body: Array(
            "<Error><Code>InvalidRequest</Code><Message>The encryption parameters are not applicable to this object.</Message></Error>"
              .utf8))
      }
      if sent != nil { return .error(403, "AccessDenied") }
      return ScriptedAnswer(
        status: 400,
        body: Array(
          "<Error><Code>InvalidRequest</Code><Message>The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.</Message></Error>"
            .utf8))
    }
  }

  private func store(_ client: ScriptedClient, endpoint: String? = nil, keys: [[UInt8]]) throws -> S3Store {
    var configuration = S3Configuration(
      bucket: "bucket", endpointURL: endpoint, region: "us-east-1", credentials: testCredentials)
    configuration.customerKeys = keys.compactMap { CustomerKey($0) }
    return try S3Store(configuration: configuration, transport: client, ledger: Ledger())
  }

  private func get(_ store: S3Store, _ key: String) async -> StoreError? {
    await storeError { _ = try await store.get(GetRequest(key: ObjectKey(key)), into: CollectingSink()) }
  }

  @Test func `each object is opened by its key, which is remembered for its directory`() async throws {
    let client = server()
    let store = try store(client, keys: [one, two])
    for (key, requests) in [("a/1", 2), ("a/2", 1), ("b/1", 3), ("b/2", 1), ("plain", 1), ("d/plain", 1)] {
      let before = client.requests.count
      #expect(await get(store, key) == nil, "\(key)")
      #expect(client.requests.count - before == requests, "\(key)")
    }
    #expect(try await store.head(HeadRequest(key: ObjectKey("b/3"))).revision.size == 7)
    let sent = try #require(client.requests.last)
    #expect(sent.field("x-amz-server-side-encryption-customer-algorithm") == "AES256")
    #expect(
      sent.field("x-amz-server-side-encryption-customer-key-MD5".lowercased()) == base64(Digest.value(.md5, of: two)))
    #expect(sent.field("authorization")?.contains("x-amz-server-side-encryption-customer-key;") == true)
  }

  @Test func `a key is sent to nobody who does not ask for one`() async throws {
    let client = server()
    let store = try store(client, keys: [one])
    #expect(await get(store, "plain") == nil)
    #expect(client.requests.allSatisfy { $0.field(Self.header) == nil })
  }

  @Test func `an object that no key opens is denied, and its neighbours are not`() async throws {
    let client = server()
    let store = try store(client, keys: [one, two])
    #expect(await get(store, "c/1")?.code == .accessDenied)
    #expect(await get(store, "a/1") == nil)
    let none = try self.store(client, keys: [])
    #expect(await get(none, "a/1")?.code == .accessDenied)
  }

  @Test func `no key goes in the clear but to this machine`() async throws {
    let client = server()
    let store = try store(client, endpoint: "http://s3.example.com", keys: [one])
    _ = await get(store, "a/1")
    #expect(client.requests.count == 1 && client.requests[0].field(Self.header) == nil)
  }

  @Test func `a file holds one key as it is, or several in lines`() throws {
    #expect(CustomerKey.keys(in: one)?.count == 1)
    let text = "# keys\n\(base64(one))\n\n  \(hexadecimal(two))  \n"
    #expect(CustomerKey.keys(in: Array(text.utf8)) == [CustomerKey(one), CustomerKey(two)].compactMap(\.self))
    for bad in ["", "\n", "short", base64([1, 2, 3]), base64(one) + "x"] {
      #expect(CustomerKey.keys(in: Array(bad.utf8)) == nil, "\(bad)")
    }
  }

  @Test func `a key never shows`() throws {
    let key = try #require(CustomerKey(one))
    var dumped = ""
    dump(key, to: &dumped)
    #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains("1, 1"))
  }
}
