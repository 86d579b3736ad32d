// What the store sends once more by itself is asked of the budget too.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Allowances", .timeLimit(.minutes(1)))
struct AllowanceTests {
  @Test(arguments: [1, 2]) func `a correction is a request like any other`(amount: Int) async throws {
    let client = ScriptedClient { request, _ in
      request.url.contains("eu-west-3")
        ? .object("body") : .error(301, "PermanentRedirect", fields: [("x-amz-bucket-region", "eu-west-3")])
    }
    let ledger = Ledger()
    let purse = Purse([BudgetLimit(Double(amount), .requests, per: .hour)])
    let store = BudgetedStore(try makeStore(client, ledger: ledger), purse: purse, ledger: ledger)
    let error = await storeError { _ = try await store.get(GetRequest(key: ObjectKey("k")), into: CollectingSink()) }
    #expect(client.requests.count == amount)
    #expect(error?.code == (amount == 1 ? .overBudget : nil))
    #expect(purse.status().first?.spent == Double(amount))
  }

  @Test(arguments: [1, 2]) func `so are the second opinion of a body and the question for a size`(amount: Int)
    async throws
  {
    let client = ScriptedClient { request, _ in
      if request.method == .head { return .object("body") }
      if request.url.contains("list-type") {
        let keys = ["a", "b"].map { "<Contents><Key>\($0)</Key><ETag>&quot;x&quot;</ETag></Contents>" }.joined()
        return ScriptedAnswer(body: Array("<ListBucketResult><KeyCount>2</KeyCount>\(keys)</ListBucketResult>".utf8))
      }
      return .object("body", etag: "\"0123456789abcdef0123456789abcdef\"")
    }
    for isList in [true, false] {
      let before = client.requests.count
      let ledger = Ledger()
      let purse = Purse([BudgetLimit(Double(amount), .requests, per: .hour)])
      let store = BudgetedStore(
        try makeStore(client, endpoint: "http://tags.example", ledger: ledger), purse: purse, ledger: ledger)
      _ = await storeError {
        if isList {
          _ = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: false))
        } else {
          _ = try await store.get(GetRequest(key: ObjectKey("k")), into: CollectingSink())
        }
      }
      #expect(client.requests.count - before == amount, "\(isList ? "list" : "get")")
      #expect(purse.status().first?.spent == Double(amount))
    }
  }
}
