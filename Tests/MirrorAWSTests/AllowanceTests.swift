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
}
