// Lets requests through as far as the budget goes; it stands below the retries, so that each attempt is asked for.
public import MirrorPlatform

/// Fails with `overBudget`, at once, what must not be sent.
public struct BudgetedStore: ObjectStore {
  /// What an answer without a stated end may hold.
  private static let unknownBytes: Int64 = 8 << 20
  /// A page of a listing is about so large.
  private static let pageBytes: Int64 = 400 << 10

  private let store: any ObjectStore
  private let purse: Purse

  /// `ledger` counts what `store` sends.
  public init(_ store: any ObjectStore, purse: Purse, ledger: Ledger) {
    self.store = store
    self.purse = purse
    // The store tells the ledger in the task of the request.
    ledger.observe { [weak purse] in purse?.note($0, $1, settling: Allowance.current?.settle() ?? []) }
  }

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    let bytes = request.range.flatMap { range in range.end.map { $0 - range.start } } ?? Self.unknownBytes
    return try await spending(.get, bytes, request.purpose, "GetObject", request.key) { () throws(StoreError) in
      try await store.get(request, into: sink)
    }
  }

  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await spending(.head, 0, request.purpose, "HeadObject", request.key) { () throws(StoreError) in
      try await store.head(request)
    }
  }

  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    try await spending(.list, Self.pageBytes, request.purpose, "ListObjectsV2", request.prefix) {
      () throws(StoreError) in try await store.list(request)
    }
  }

  public func probe(deadline: Instant?) async throws(StoreError) {
    try await spending(.head, 0, .probe, "HeadBucket", ObjectKey([])) { () throws(StoreError) in
      try await store.probe(deadline: deadline)
    }
  }

  private func spending<Answer: Sendable>(
    _ kind: RequestKind, _ bytes: Int64, _ purpose: RequestPurpose, _ operation: String, _ key: ObjectKey,
    _ body: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let allowance = Allowance(purse, PricedRequest(purpose, kind, bytes: bytes, key, operation: operation))
    try await allowance.take()
    let result = await Allowance.$current.withValue(allowance) { () async -> Result<Answer, StoreError> in
      do throws(StoreError) { return .success(try await body()) } catch { return .failure(error) }
    }
    allowance.end()
    return try result.get()
  }
}
