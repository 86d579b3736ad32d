// Pages of a listing that hold nothing and go on: S3 sends such where it has skipped what was deleted.
public import MirrorPlatform

/// Follows empty pages to the first that holds something or ends the listing, unless who asks is told of each page's
/// successor (`onNext`) and follows it himself. Each is a request of its own, and has as long as the first.
public struct FilledPages: ObjectStore {
  /// More in a row are taken for a listing without an end.
  public static let most = 1000

  private let store: any ObjectStore
  private let clock: any Clock

  public init(_ store: any ObjectStore, clock: any Clock = SystemClock()) {
    self.store = store
    self.clock = clock
  }

  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    var request = request
    let patience = request.deadline.map { $0 - clock.now() }
    var places: Set<String> = []
    while true {
      let page = try await store.list(request)
      guard page.isEmpty, request.onNext == nil, let next = page.next else { return page }
      guard places.count < Self.most, places.insert(next).inserted else {
        throw StoreError(
          .malformedResponse, operation: "ListObjectsV2", subject: "\(request.prefix)",
          message: "the server sends empty pages without an end")
      }
      request.continuation = next
      request.deadline = patience.map { clock.now() + $0 }
    }
  }

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    try await store.get(request, into: sink)
  }
  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata { try await store.head(request) }
  public func probe(deadline: Instant?) async throws(StoreError) { try await store.probe(deadline: deadline) }
}

extension ListPage {
  /// It holds nothing, wherever it leads.
  public var isEmpty: Bool { objects.isEmpty && prefixes.isEmpty && versions.isEmpty }
}
