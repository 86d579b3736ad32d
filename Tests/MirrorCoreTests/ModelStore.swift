// A bucket whose answers wait until the program lets them go: late, in any order, in part, or as failures.
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport

/// One request, and what became of it.
struct Asked: Sendable {
  enum Kind: String, Sendable { case get, head, list }
  enum Outcome: Sendable {
    /// This version's head or attributes.
    case version(Int)
    /// 304.
    case same(Int)
    case missing
    /// 412 and 416.
    case refused
    case failed(StoreError.Code)
    /// The keys of a page and their versions; those up to `end` that are not in it were not there.
    case page([[UInt8]: Int], after: [UInt8], end: [UInt8]?)
  }
  let number: Int
  let kind: Kind
  /// The key, or the prefix of a listing.
  let key: [UInt8]
  let sent: Instant
  /// When the first page of the listing was asked for that this one goes on with.
  let first: Instant
  let deadline: Instant?
  /// Of a reader's bytes: it does not ask what the name's revision is.
  let isRead: Bool
  var served: Instant?
  var delivered: Instant?
  var outcome: Outcome?

  /// Whether its answer may tell of a name, be it a file's or a directory's.
  func tells(of name: [UInt8]) -> Bool {
    guard kind == .list else { return key == name }
    return name.starts(with: key) || key.starts(with: name + [0x2F])
  }
}

/// Safe to share, though all but counting happens on the model's thread.
final class ModelStore: ObjectStore {
  /// What becomes of a request that waits.
  enum Order: Sendable {
    case go
    case fail(StoreError.Code)
  }

  fileprivate struct State {
    var history = BucketHistory()
    var asked: [Int: Asked] = [:]
    var last = 0
    /// Requests whose answers wait, and those whose second half does.
    var parked: [(number: Int, isBody: Bool, continuation: CheckedContinuation<Order, Never>)] = []
    var down: StoreError.Code?
    /// What a page was made of when it was served.
    var snapshots: [Int: [BucketHistory.Version]] = [:]
    /// When the listings began that go on at these places, by prefix.
    var firsts: [[UInt8]: [String: Instant]] = [:]
    var news: [Asked] = []
  }
  private let state = Mutex(State())
  private let clock: any Clock
  private let pageSize: Int
  /// Bodies come in two halves, and the second may be waited for.
  private let halves: Bool

  init(clock: any Clock, pageSize: Int, halves: Bool) {
    self.clock = clock
    self.pageSize = pageSize
    self.halves = halves
  }

  // MARK: What the program does

  var history: BucketHistory { state.withLock { $0.history } }
  func change(_ body: (inout BucketHistory) -> Void) { state.withLock { body(&$0.history) } }
  func goDown(_ code: StoreError.Code?) { state.withLock { $0.down = code } }
  var down: StoreError.Code? { state.withLock { $0.down } }
  var parkedCount: Int { state.withLock { $0.parked.count } }
  /// How many requests were ever sent.
  var sentCount: Int { state.withLock { $0.last } }

  /// The answer is made now, whenever it is given.
  func serve(_ index: Int) {
    let now = clock.now()
    state.withLock { state in
      guard !state.parked.isEmpty else { return }
      state.serve(state.parked[index % state.parked.count].number, now)
    }
  }

  /// Gives an answer, made now if it was not made before.
  func deliver(_ index: Int, _ order: Order = .go) {
    let now = clock.now()
    let continuation = state.withLock { state -> CheckedContinuation<Order, Never>? in
      guard !state.parked.isEmpty else { return nil }
      let parked = state.parked.remove(at: index % state.parked.count)
      state.serve(parked.number, now)
      return parked.continuation
    }
    continuation?.resume(returning: order)
  }

  /// Requests that wait beyond their deadline.
  func expired(at now: Instant) -> Int? {
    state.withLock { state in
      state.parked.firstIndex { state.asked[$0.number]?.deadline.map { $0 <= now } ?? false }
    }
  }
  var nextDeadline: Instant? {
    state.withLock { state in state.parked.compactMap { state.asked[$0.number]?.deadline }.min() }
  }

  /// Answers that were given since the last call.
  func takeNews() -> [Asked] {
    state.withLock { state in
      defer { state.news = [] }
      return state.news
    }
  }

  /// Those that are waited for, or whose answers came after a moment.
  func recent(since moment: Instant) -> [Asked] {
    state.withLock { state in
      state.asked.values.filter { $0.delivered.map { $0 >= moment } ?? true }.sorted { $0.number < $1.number }
    }
  }

  func forget(before moment: Instant) {
    state.withLock { state in
      guard state.asked.count > 200 else { return }
      state.asked = state.asked.filter { $0.value.delivered.map { $0 >= moment } ?? true }
    }
  }

  // MARK: What the mirror asks

  private func begin(
    _ kind: Asked.Kind, _ key: [UInt8], _ deadline: Instant?, goingOn place: String? = nil, isRead: Bool = false
  ) -> Int {
    let now = clock.now()
    return state.withLock { state in
      state.last += 1
      let first = place.flatMap { state.firsts[key]?[$0] } ?? now
      state.asked[state.last] = Asked(
        number: state.last, kind: kind, key: key, sent: now, first: first, deadline: deadline, isRead: isRead)
      return state.last
    }
  }

  private func wait(_ number: Int, isBody: Bool = false) async throws(StoreError) {
    let order: Order = await withCheckedContinuation { continuation in
      let down = state.withLock { state -> StoreError.Code? in
        if state.down == nil { state.parked.append((number, isBody, continuation)) }
        return state.down
      }
      if let down { continuation.resume(returning: .fail(isBody ? .interrupted : down)) }
    }
    if case .fail(let code) = order { throw failure(isBody ? .interrupted : code, number, isBody: isBody) }
  }

  private func failure(_ code: StoreError.Code, _ number: Int, isBody: Bool) -> StoreError {
    note(number, .failed(code), isBody: isBody)
    return StoreError(code, operation: "Test", subject: "request \(number)", message: "told to fail")
  }

  /// A body that breaks off changes nothing of what its head said.
  private func note(_ number: Int, _ outcome: Asked.Outcome, isBody: Bool = false) {
    let now = clock.now()
    state.withLock { state in
      guard var asked = state.asked[number] else { return }
      asked.delivered = now
      asked.outcome = outcome
      state.news.append(asked)
      if !isBody { state.asked[number] = asked }
    }
  }

  private func snapshot(_ number: Int) -> [BucketHistory.Version] {
    state.withLock { $0.snapshots.removeValue(forKey: number) ?? [] }
  }

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    var isRead = false
    if case .ifMatch = request.condition { isRead = true }
    let number = begin(.get, request.key.bytes, request.deadline, isRead: isRead)
    try await wait(number)
    func refusal(_ code: StoreError.Code, _ outcome: Asked.Outcome, _ status: Int) -> StoreError {
      note(number, outcome)
      return StoreError(code, operation: "GetObject", subject: "\(request.key)", status: status, message: "no")
    }
    guard let object = snapshot(number).first else { throw refusal(.notFound, .missing, 404) }
    let caching = CachingFields(cacheControl: object.cacheControl)
    switch request.condition {
    case .ifNoneMatch(let tag) where tag == EntityTag(object.tag):
      note(number, .same(object.number))
      return .notModified(modified: object.modified.last, caching: caching)
    case .ifMatch(let tag) where tag != EntityTag(object.tag): throw refusal(.preconditionFailed, .refused, 412)
    default: break
    }
    let size = Int64(object.size)
    let start = request.range?.start ?? 0
    if request.range != nil, start >= size { throw refusal(.rangeNotSatisfiable, .refused, 416) }
    let end = min(size, request.range?.end ?? size)
    let head = ObjectHead(
      metadata: ObjectMetadata(revision: object.revision, caching: caching), start: start, end: end)
    note(number, .version(object.number))
    guard sink.begin(head) else { return .ended }
    let body = object.body
    let half = halves && end - start > 1 ? start + (end - start) / 2 : end
    guard sink.receive(Array(body[Int(start)..<Int(half)]).span.bytes) else { return .ended }
    if half < end {
      try await wait(number, isBody: true)
      guard sink.receive(Array(body[Int(half)..<Int(end)]).span.bytes) else { return .ended }
    }
    return .delivered(head)
  }

  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    let number = begin(.head, request.key.bytes, request.deadline)
    try await wait(number)
    guard let object = snapshot(number).first else {
      note(number, .missing)
      throw StoreError(.notFound, operation: "HeadObject", subject: "\(request.key)", status: 404, message: "no")
    }
    note(number, .version(object.number))
    return ObjectMetadata(revision: object.revision, caching: CachingFields(cacheControl: object.cacheControl))
  }

  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    let after = request.continuation.map { Array(hexadecimal: $0) } ?? request.startAfter?.bytes ?? []
    // A flat page is gone on with after its last key, or after the directory that it ends in.
    let place = request.continuation ?? (request.delimited && !after.isEmpty ? "flat" : nil)
    let number = begin(.list, request.prefix.bytes, request.deadline, goingOn: place)
    try await wait(number)
    let (page, last) = page(snapshot(number), request, after)
    state.withLock { state in
      guard let next = page.next, let first = state.asked[number]?.first else { return }
      state.firsts[request.prefix.bytes, default: [:]][request.delimited ? next : "flat"] = first
    }
    if let next = page.next { request.onNext?(next) }
    let all = Dictionary(uniqueKeysWithValues: page.objects.map { ($0.key.bytes, $0.revision.modelNumber) })
    let below = Dictionary(uniqueKeysWithValues: page.prefixes.map { ($0.bytes, 0) })
    note(number, .page(all.merging(below) { $1 }, after: after, end: page.next == nil ? nil : last))
    return page
  }

  func probe(deadline: Instant?) async throws(StoreError) {
    if let down { throw StoreError(down, operation: "HeadBucket", subject: "bucket", message: "told to fail") }
  }

  private func page(
    _ objects: [BucketHistory.Version], _ request: ListRequest, _ after: [UInt8]
  ) -> (ListPage, last: [UInt8]) {
    var page = ListPage(objects: [], prefixes: [], next: nil)
    var last: [UInt8] = []
    for object in objects {
      let rest = object.key[request.prefix.bytes.count...]
      let group = request.delimited ? rest.firstIndex(of: 0x2F).map { Array(object.key[...$0]) } : nil
      let place = group ?? object.key
      guard after.lexicographicallyPrecedes(place), place != last else { continue }
      if page.objects.count + page.prefixes.count == pageSize {
        page.next = hexadecimal(last)
        break
      }
      last = place
      if group == nil {
        page.objects.append(ListedObject(key: ObjectKey(object.key), revision: object.revision))
      } else {
        page.prefixes.append(ObjectKey(place))
      }
    }
    return (page, last)
  }
}

extension ModelStore.State {
  fileprivate mutating func serve(_ number: Int, _ now: Instant) {
    guard let request = asked[number], request.served == nil else { return }
    asked[number]?.served = now
    snapshots[number] =
      request.kind == .list
      ? history.current(below: request.key) : history.current(request.key).map { [$0] } ?? []
  }
}

extension BucketHistory.Version {
  var revision: ObjectRevision {
    ObjectRevision(etag: EntityTag(tag), size: Int64(size), modified: modified.last)
  }
}

extension ObjectRevision {
  /// Which version of the model it is; 0: none.
  var modelNumber: Int {
    guard let tag = etag?.description, tag.hasPrefix("tag-") else { return 0 }
    return Int(tag.dropFirst(4)) ?? 0
  }
}

extension [UInt8] {
  fileprivate init(hexadecimal text: String) {
    let digits = Array<UInt8>(text.utf8).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
  }
}
