// A bucket as it was at a time: what is asked of it is answered from the versions of its objects.
public import MirrorPlatform

/// Shows, of each key, the newest version that is no later than a time; nothing where that one marks a deletion.
///
/// The store below answers listings of versions, and objects by the ids of their versions.
public struct PastStore: ObjectStore {
  private static let parallelism = 8

  private let store: any ObjectStore
  private let time: WallTime
  private let clock: any Clock

  public init(_ store: any ObjectStore, at time: WallTime, clock: any Clock = SystemClock()) {
    self.store = store
    self.time = time
    self.clock = clock
  }

  public func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    var request = request
    if request.version == nil {
      let found = try await find(request.key, "GetObject", request.deadline, request.purpose)
      request.version = found.revision.version
    }
    return try await store.get(request, into: sink)
  }

  public func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    var request = request
    if request.version == nil {
      let found = try await find(request.key, "HeadObject", request.deadline, request.purpose)
      request.version = found.revision.version
    }
    return try await store.head(request)
  }

  public func probe(deadline: Instant?) async throws(StoreError) { try await store.probe(deadline: deadline) }

  /// A page of what there was; several requests where pages are full of what there was not. Each has as long as the
  /// first.
  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    var request = request
    request.ofVersions = true
    let patience = request.deadline.map { $0 - clock.now() }
    var page = ListPage(objects: [], prefixes: [], next: nil)
    repeat {
      resume(&request)
      request.deadline = patience.map { clock.now() + $0 }
      let versions = try await store.list(request)
      page.objects = current(versions.versions)
      page.prefixes = try await living(versions.prefixes, patience, request.purpose)
      page.next = next(after: versions)
      request.continuation = page.next
    } while page.objects.isEmpty && page.prefixes.isEmpty && page.next != nil
    return page
  }

  // MARK: One key

  /// The object under a key, by a listing of the key's versions.
  private func find(
    _ key: ObjectKey, _ operation: String, _ deadline: Instant?, _ purpose: RequestPurpose
  ) async throws(StoreError) -> ListedObject {
    var request = ListRequest(prefix: key, delimited: false, deadline: deadline, purpose: purpose)
    request.ofVersions = true
    while true {
      let page = try await store.list(request)
      let own = page.versions.prefix { $0.object.key == key }
      if let found = newest(own[...]) {
        if found.isDeleteMarker { break }
        return found.object
      }
      // Other keys that begin so come after all of its versions.
      guard own.count == page.versions.count, let next = page.next else { break }
      request.continuation = next
    }
    throw StoreError(.notFound, operation: operation, subject: "\(key)", message: "there was no such key at that time")
  }

  // MARK: Many keys

  /// The newest that is no later than the time; of two of one moment the one that is listed first.
  private func newest(_ versions: ArraySlice<ListedVersion>) -> ListedVersion? {
    var newest: ListedVersion?
    for version in versions where version.time <= time && newest.map({ $0.time < version.time }) ?? true {
      newest = version
    }
    return newest
  }

  private func current(_ versions: [ListedVersion]) -> [ListedObject] {
    versions.runs.compactMap { run in newest(run).flatMap { $0.isDeleteMarker ? nil : $0.object } }
  }

  /// Where to go on. A key that is decided need not be read to its end: some have thousands of versions.
  private func next(after page: ListPage) -> String? {
    guard let token = page.next else { return nil }
    let last = page.versions.runs.last
    guard let last, let key = last.first?.object.key, newest(last) != nil, page.prefixes.last ?? key <= key else {
      return "versions " + token
    }
    return "after " + percentEncoded(key.bytes, keepingSlash: true)
  }

  /// Takes a token of `next` apart.
  private func resume(_ request: inout ListRequest) {
    guard let token = request.continuation, let space = token.firstIndex(of: " ") else { return }
    let rest = token[token.index(after: space)...]
    if token.hasPrefix("after ") {
      request.continuation = nil
      request.startAfter = ObjectKey(percentDecoded(rest.utf8, form: false))
    } else {
      request.continuation = String(rest)
      request.startAfter = nil
    }
  }

  // MARK: Directories

  /// Those prefixes below which there was an object: the listing also has those where all came later, or was gone.
  private func living(
    _ prefixes: [ObjectKey], _ patience: Duration?, _ purpose: RequestPurpose
  ) async throws(StoreError) -> [ObjectKey] {
    guard !prefixes.isEmpty else { return [] }
    let verdicts = await withTaskGroup(of: (Int, Result<Bool, StoreError>).self) { group in
      var verdicts = [Result<Bool, StoreError>](repeating: .success(false), count: prefixes.count)
      for index in prefixes.indices {
        if index >= Self.parallelism, let (done, verdict) = await group.next() { verdicts[done] = verdict }
        group.addTask { (index, await isAlive(prefixes[index], patience, purpose)) }
      }
      for await (done, verdict) in group { verdicts[done] = verdict }
      return verdicts
    }
    var living: [ObjectKey] = []
    for (prefix, verdict) in zip(prefixes, verdicts) where try verdict.get() { living.append(prefix) }
    return living
  }

  private func isAlive(
    _ prefix: ObjectKey, _ patience: Duration?, _ purpose: RequestPurpose
  ) async -> Result<Bool, StoreError> {
    let deadline = patience.map { clock.now() + $0 }
    let question = ListRequest(prefix: prefix, delimited: false, deadline: deadline, purpose: purpose)
    // `list` goes on until it has something.
    do throws(StoreError) { return .success(!(try await list(question)).objects.isEmpty) } catch {
      return .failure(error)
    }
  }
}

extension [ListedVersion] {
  /// The versions of one key after those of another.
  fileprivate var runs: [ArraySlice<ListedVersion>] {
    var runs: [ArraySlice<ListedVersion>] = []
    var start = startIndex
    for index in indices where index + 1 == endIndex || self[index + 1].object.key != self[index].object.key {
      runs.append(self[start...index])
      start = index + 1
    }
    return runs
  }
}
