// Under which prefix and at which price the ledger puts a request.
import MirrorHTTP
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Ledger places", .timeLimit(.minutes(1)))
struct LedgerPlaceTests {
  private let root = ObjectKey("")

  private func entries(_ ledger: Ledger) -> [ObjectKey: RequestCounts] {
    var counts: [ObjectKey: RequestCounts] = [:]
    for (entry, tally) in ledger.takeUnsaved() {
      counts[entry.prefix, default: RequestCounts()].add(entry.requests, tally)
    }
    return counts
  }

  private static let listing = ScriptedAnswer(
    body: Array(
      """
      <ListBucketResult><IsTruncated>false</IsTruncated>\
      <Contents><Key>m/a/cold</Key><ETag>"x"</ETag><Size>1</Size><StorageClass>GLACIER_IR</StorageClass></Contents>\
      <Contents><Key>m/a/warm</Key><ETag>"y"</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>\
      </ListBucketResult>
      """.utf8))

  @Test func `a request counts where its key lies, a listing where it looks`() async throws {
    let ledger = Ledger(prefix: ObjectKey("m/"))
    let client = ScriptedClient { request, _ in
      request.url.contains("list-type") ? Self.listing : .object("x")
    }
    let store = try makeStore(client, ledger: ledger)
    _ = try await store.get(GetRequest(key: ObjectKey("m/a/b/c")), into: CollectingSink())
    _ = try await store.head(HeadRequest(key: ObjectKey("m/top")))
    _ = try await store.list(ListRequest(prefix: ObjectKey("m/a/b"), delimited: true))
    _ = try await store.list(ListRequest(prefix: ObjectKey("m/"), delimited: false))
    try await store.probe(deadline: nil)
    let counts = entries(ledger)
    #expect(Set(counts.keys) == [root, ObjectKey("a/")])
    #expect(counts[ObjectKey("a/")]?.gets == 1 && counts[ObjectKey("a/")]?.lists == 1)
    #expect(counts[root]?.heads == 2 && counts[root]?.lists == 1)
  }

  @Test func `each attempt counts, those that S3 forgives too`() async throws {
    let ledger = Ledger()
    let client = ScriptedClient(
      .error(400, "AuthorizationHeaderMalformed", extra: "<Region>eu-west-1</Region>"), .object("x"))
    _ = try await makeStore(client, ledger: ledger).get(GetRequest(key: ObjectKey("k")), into: CollectingSink())
    #expect(ledger.sinceMount.total == 2 && ledger.sinceMount.billed == 1)
  }

  @Test func `a 304 has the price of the class that the listing told`() async throws {
    let ledger = Ledger()
    let client = ScriptedClient { request, _ in
      request.url.contains("list-type") ? Self.listing : ScriptedAnswer(status: 304)
    }
    let store = try makeStore(client, ledger: ledger)
    _ = try await store.list(ListRequest(prefix: ObjectKey("m/a/"), delimited: true))
    for key in ["m/a/cold", "m/a/warm", "m/a/unknown"] {
      let request = GetRequest(key: ObjectKey(key), condition: .ifNoneMatch(EntityTag("\"x\"")))
      _ = try await store.get(request, into: CollectingSink())
    }
    #expect(ledger.sinceMount.tallies[RequestClass(.get, .notModified, .glacierIR)]?.requests == 1)
    #expect(ledger.sinceMount.tallies[RequestClass(.get, .notModified)]?.requests == 2)
  }

  @Test func `an answer that tells its class is believed, and so is the next 304`() async throws {
    let ledger = Ledger()
    let client = ScriptedClient(
      .object("xy", fields: [("x-amz-storage-class", "STANDARD_IA")]), ScriptedAnswer(status: 304), .object("xy"),
      ScriptedAnswer(status: 304))
    let store = try makeStore(client, ledger: ledger)
    for _ in 0..<2 {
      _ = try await store.get(GetRequest(key: ObjectKey("k")), into: CollectingSink())
      let request = GetRequest(key: ObjectKey("k"), condition: .ifNoneMatch(EntityTag("\"x\"")))
      _ = try await store.get(request, into: CollectingSink())
    }
    let tallies = ledger.sinceMount.tallies
    #expect(tallies[RequestClass(.get, .success, .standardIA)] == Tally(requests: 1, bytes: 2))
    #expect(tallies[RequestClass(.get, .notModified, .standardIA)]?.requests == 1)
    #expect(tallies[RequestClass(.get, .success)]?.requests == 1)
    #expect(tallies[RequestClass(.get, .notModified)]?.requests == 1)
  }
}
