// A bucket in memory that counts what it is asked and fails when told to.
import MirrorPlatform
import MirrorStore
import Synchronization

final class MemoryStore: ObjectStore {
  struct Object {
    var body: [UInt8]
    var tag: String
    var modified: Int64 = 1_600_000_000
    var caching = CachingFields()
    var storageClass: String?
    /// What listings say in place of the truth.
    var toldSize: Int64?
    /// False: answers for it have no ETag.
    var isTagged = true
    /// Where the bucket keeps versions.
    var version: String?
    var key = ObjectKey([])
  }

  private struct State {
    var objects: [ObjectKey: Object] = [:]
    var log: [String] = []
    var failure: StoreError.Code?
    var pageSize = 1000
    var version = 0
    /// So many bodies come with a wrong first byte, and their checksum tells it at the end.
    var damages = 0
    var keepsVersions = false
    var deniesVersions = false
    var past: [String: Object] = [:]
    var deniesProbes = false
    /// Each listing begins anew, and says that it goes on at another place.
    var ignoresPlaces = false
    var places = 0
    /// What the head of a page says where to go on, if not the truth.
    var toldInstead: String?
    var provesAtEnd = false
    /// So many bodies break off in the middle, with a wrong first byte.
    var breaks = 0
    /// The rest of a body that broke off comes without proof.
    var forgetsProof = false
  }
  private let state = Mutex(State())
  private let gate = Gate()
  /// Between the last byte of a body and its end.
  let ends = Gate()

  @discardableResult
  func put(_ key: String, _ body: String, _ caching: CachingFields = CachingFields()) -> Self {
    state.withLock {
      $0.version += 1
      var object = Object(body: Array(body.utf8), tag: "\"tag-\($0.version)\"", caching: caching)
      if $0.keepsVersions {
        object.version = "v\($0.version)"
        object.key = ObjectKey(key)
        $0.past["v\($0.version)"] = object
      }
      $0.objects[ObjectKey(key)] = object
    }
    return self
  }
  /// What is put from now on can be had by its version: `v1`, `v2`, …
  func keepVersions() { state.withLock { $0.keepsVersions = true } }
  /// Nobody may ask for a version by its id.
  func denyVersions() { state.withLock { $0.deniesVersions = true } }
  /// No old version is left.
  func expireVersions() { state.withLock { $0.past = [:] } }
  /// The same object with other fields, as a copy onto itself makes it.
  func setCaching(_ key: String, _ caching: CachingFields) {
    state.withLock { $0.objects[ObjectKey(key)]?.caching = caching }
  }
  func put(bytes key: [UInt8], _ body: [UInt8]) {
    state.withLock {
      $0.version += 1
      $0.objects[ObjectKey(key)] = Object(body: body, tag: "\"tag-\($0.version)\"")
    }
  }
  /// Without another version.
  func change(_ key: String, _ body: (inout Object) -> Void) {
    state.withLock { state in
      guard var object = state.objects[ObjectKey(key)] else { return }
      body(&object)
      state.objects[ObjectKey(key)] = object
    }
  }
  func delete(_ key: String) { state.withLock { $0.objects[ObjectKey(key)] = nil } }
  /// Each body's end tells whether it was right.
  func proveAtEnd() { state.withLock { $0.provesAtEnd = true } }
  func breakOff(_ times: Int, forgettingProof: Bool = false) {
    state.withLock {
      $0.breaks = times
      $0.forgetsProof = forgettingProof
    }
  }
  func damage(_ times: Int) { state.withLock { $0.damages = times } }
  func fail(_ code: StoreError.Code?) { state.withLock { $0.failure = code } }
  func tellInstead(_ token: String?) { state.withLock { $0.toldInstead = token } }
  func ignorePlaces() { state.withLock { $0.ignoresPlaces = true } }
  /// A policy allows no HeadBucket.
  func denyProbes() { state.withLock { $0.deniesProbes = true } }
  func setPageSize(_ size: Int) { state.withLock { $0.pageSize = size } }
  /// What was asked since the last call: `get key 0-9 if-none-match`, `list prefix flat`, …
  func takeLog() -> [String] {
    state.withLock { state in
      defer { state.log = [] }
      return state.log
    }
  }
  /// How many of the requests in the log begin so.
  func asked(_ what: String) -> Int { state.withLock { $0.log.count { $0.hasPrefix(what) } } }
  /// Holds every answer back until `openGate`.
  func closeGate() { gate.close() }
  func openGate() { gate.open() }
  /// Lets the answers go that are held back now, and holds back those that follow.
  func stepGate() { gate.step() }

  private func enter(
    _ line: String, _ subject: String, telling: () -> Void = {}
  ) async throws(StoreError) {
    let failure = state.withLock { state in
      state.log.append(line)
      return state.failure
    }
    if failure == nil { telling() }
    await gate.pass()
    if let failure { throw StoreError(failure, operation: "Test", subject: subject, message: "told to fail") }
  }

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    var line = "get \(request.key)"
    if let version = request.version { line += "@\(version)" }
    if let range = request.range { line += " \(range.start)-\(range.end.map { "\($0)" } ?? "")" }
    switch request.condition {
    case .none: break
    case .ifMatch: line += " if-match"
    case .ifNoneMatch: line += " if-none-match"
    }
    try await enter(line, "\(request.key)")
    func error(_ code: StoreError.Code, _ status: Int) -> StoreError {
      StoreError(code, operation: "GetObject", subject: "\(request.key)", status: status, message: "no")
    }
    if request.version != nil, state.withLock({ $0.deniesVersions }) { throw error(.accessDenied, 403) }
    let found = state.withLock { state in
      request.version.map { state.past[$0] } ?? state.objects[request.key]
    }
    guard let object = found else { throw error(.notFound, 404) }
    switch request.condition {
    case .ifNoneMatch(let tag) where tag == EntityTag(object.tag):
      return .notModified(modified: nil, caching: object.caching)
    case .ifMatch(let tag) where tag != EntityTag(object.tag): throw error(.preconditionFailed, 412)
    default: break
    }
    let size = Int64(object.body.count)
    let start = request.range?.start ?? 0
    if request.range != nil, start >= size { throw error(.rangeNotSatisfiable, 416) }
    let end = min(size, request.range?.end ?? size)
    var head = ObjectHead(
      metadata: ObjectMetadata(
        revision: ObjectRevision(
          etag: object.isTagged ? EntityTag(object.tag) : nil, size: size, modified: object.modified,
          version: object.version),
        storageClass: object.storageClass, caching: object.caching), start: start, end: end)
    let (isProven, breaks) = state.withLock { state in
      defer { state.breaks = max(0, state.breaks - 1) }
      return (state.provesAtEnd && !(state.forgetsProof && start > 0), state.breaks > 0)
    }
    if isProven { head.provenFrom = end == size ? 0 : start }
    guard sink.begin(head) else { return .ended }
    var body = Array(object.body[Int(start)..<Int(end)])
    if breaks {
      body[0] ^= 1
      let half = Array(body[..<(body.count / 2)])
      guard sink.receive(half.span.bytes) else { return .ended }
      await ends.pass()
      throw error(.interrupted, 200)
    }
    let isDamaged = state.withLock { state in
      guard state.damages > 0, !body.isEmpty else { return false }
      state.damages -= 1
      return true
    }
    if isDamaged {
      body[0] ^= 1
      _ = sink.receive(body.span.bytes)
      await ends.pass()
      throw error(.checksumMismatch, 200)
    }
    let isWanted = sink.receive(body.span.bytes)
    await ends.pass()
    return isWanted ? .delivered(head) : .ended
  }

  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    try await enter("head \(request.key)", "\(request.key)")
    guard let object = state.withLock({ $0.objects[request.key] }) else {
      throw StoreError(.notFound, operation: "HeadObject", subject: "\(request.key)", status: 404, message: "no")
    }
    return ObjectMetadata(
      revision: ObjectRevision(
        etag: object.isTagged ? EntityTag(object.tag) : nil, size: Int64(object.body.count), modified: object.modified),
      storageClass: object.storageClass, caching: object.caching)
  }

  /// As the service does it: where the listing goes on is told before the keys.
  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    if request.ofVersions { return try await versions(of: request.prefix) }
    try await enter("list \(request.prefix) \(request.delimited ? "delimited" : "flat")", "list") {
      let told = state.withLock { $0.toldInstead } ?? page(request).next
      if let told { request.onNext?(told) }
    }
    return page(request)
  }

  private func page(_ request: ListRequest) -> ListPage {
    state.withLock { state in
      let after = state.ignoresPlaces ? nil : request.continuation.map { ObjectKey($0) } ?? request.startAfter
      defer { state.places += 1 }
      var page = ListPage(objects: [], prefixes: [], next: nil)
      for (key, object) in state.objects.sorted(by: { $0.key < $1.key }) {
        guard key.bytes.starts(with: request.prefix.bytes) else { continue }
        let rest = key.bytes[request.prefix.bytes.count...]
        var group: ObjectKey?
        if request.delimited, let slash = rest.firstIndex(of: 0x2F) { group = ObjectKey(Array(key.bytes[...slash])) }
        if let after, (group ?? key) <= after { continue }
        if let group, page.prefixes.last == group { continue }
        if page.objects.count + page.prefixes.count == state.pageSize {
          page.next = max(page.objects.last?.key ?? ObjectKey(""), page.prefixes.last ?? ObjectKey("")).description
          break
        }
        if let group {
          page.prefixes.append(group)
        } else {
          page.objects.append(
            ListedObject(
              key: key,
              revision: ObjectRevision(
                etag: object.isTagged ? EntityTag(object.tag) : nil, size: object.toldSize ?? Int64(object.body.count),
                modified: object.modified)))
        }
      }
      if state.ignoresPlaces { page.next = "place \(state.places)" }
      return page
    }
  }

  /// Those of one key that can still be had.
  private func versions(of key: ObjectKey) async throws(StoreError) -> ListPage {
    try await enter("versions \(key)", "list")
    let past = state.withLock { state in
      state.past.filter { $0.value.key == key }.sorted { $0.value.modified > $1.value.modified }
    }
    var page = ListPage(objects: [], prefixes: [], next: nil)
    page.versions = past.map { id, object in
      let revision = ObjectRevision(
        etag: EntityTag(object.tag), size: Int64(object.body.count), modified: object.modified, version: id)
      return ListedVersion(
        ListedObject(key: key, revision: revision), time: WallTime(seconds: object.modified), isDeleteMarker: false)
    }
    return page
  }

  func probe(deadline: Instant?) async throws(StoreError) {
    try await enter("probe", "bucket")
    if state.withLock({ $0.deniesProbes }) {
      throw StoreError(.accessDenied, operation: "HeadBucket", subject: "bucket", status: 403, message: "no")
    }
  }
}

/// Where requests are held back while it is closed.
final class Gate: Sendable {
  private let waiting = Mutex<[CheckedContinuation<Void, Never>]?>(nil)

  func close() { waiting.withLock { $0 = [] } }
  func open() { release(closing: false) }
  func step() { release(closing: true) }

  private func release(closing: Bool) {
    let held = waiting.withLock { waiting in
      defer { waiting = closing ? [] : nil }
      return waiting ?? []
    }
    for continuation in held { continuation.resume() }
  }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = waiting.withLock { waiting in
        waiting?.append(continuation)
        return waiting == nil
      }
      if isOpen { continuation.resume() }
    }
  }
}
