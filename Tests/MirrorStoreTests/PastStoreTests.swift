// The past of a bucket, against a model of it that remembers every change.
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

/// A bucket that keeps the history of its keys, and lists versions page by page.
private final class History: ObjectStore {
  struct Change {
    let id: String
    let time: Int64
    /// Nil: deleted.
    let size: Int64?
  }
  private struct State {
    var changes: [ObjectKey: [Change]] = [:]
    var next = 0
    var log: [String] = []
  }
  private let state = Mutex(State())
  let pageSize: Int
  init(pageSize: Int) { self.pageSize = pageSize }

  func put(_ key: String, at time: Int64, size: Int64?) {
    state.withLock { state in
      state.next += 1
      state.changes[ObjectKey(key), default: []].insert(Change(id: "v\(state.next)", time: time, size: size), at: 0)
    }
  }
  func takeLog() -> [String] {
    state.withLock { state in
      defer { state.log = [] }
      return state.log
    }
  }

  /// What there was at a time: the model.
  func contents(at time: Int64) -> [ObjectKey: String] {
    state.withLock { state in
      state.changes.compactMapValues { changes in
        changes.first { $0.time <= time }.flatMap { $0.size == nil ? nil : $0.id }
      }
    }
  }

  func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    state.withLock { state in
      state.log.append("list \(request.prefix)\(request.ofVersions ? "" : " current")")
      // A token is the place of the next version: `index`; a key after which to go on is taken as it is.
      var all: [(key: ObjectKey, group: ObjectKey?, change: Change)] = []
      for (key, changes) in state.changes.sorted(by: { $0.key < $1.key })
      where key.bytes.starts(with: request.prefix.bytes) {
        let rest = key.bytes[request.prefix.bytes.count...]
        var group: ObjectKey?
        if request.delimited, let slash = rest.firstIndex(of: 0x2F) { group = ObjectKey(Array(key.bytes[...slash])) }
        if let group, all.last?.group == group { continue }
        for change in group == nil ? changes : [changes[0]] { all.append((key, group, change)) }
      }
      var start = request.continuation.flatMap { Int($0) } ?? 0
      if let after = request.startAfter { start = all.firstIndex { ($0.group ?? $0.key) > after } ?? all.count }
      let end = min(all.count, start + pageSize)
      var page = ListPage(objects: [], prefixes: [], next: end < all.count ? "\(end)" : nil)
      for entry in all[start..<end] {
        if let group = entry.group {
          page.prefixes.append(group)
        } else {
          let revision = ObjectRevision(
            etag: EntityTag("\"\(entry.change.id)\""), size: entry.change.size ?? 0, modified: entry.change.time,
            version: entry.change.id)
          page.versions.append(
            ListedVersion(
              ListedObject(key: entry.key, revision: revision), time: WallTime(seconds: entry.change.time),
              isDeleteMarker: entry.change.size == nil))
        }
      }
      return page
    }
  }

  func get(_ request: GetRequest, into sink: any ObjectSink) async throws(StoreError) -> GetOutcome {
    state.withLock { $0.log.append("get \(request.key)@\(request.version ?? "")") }
    return .ended
  }
  func head(_ request: HeadRequest) async throws(StoreError) -> ObjectMetadata {
    state.withLock { $0.log.append("head \(request.key)@\(request.version ?? "")") }
    return ObjectMetadata(revision: ObjectRevision(etag: nil, size: 0, modified: 1))
  }
  func probe(deadline: Instant?) async throws(StoreError) {}
}

private final class DeafSink: ObjectSink {
  func begin(_ head: ObjectHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { true }
}

@Suite(.timeLimit(.minutes(1)))
struct PastStoreTests {
  /// All pages of a listing.
  private func list(_ store: PastStore, _ prefix: String, delimited: Bool) async throws -> (
    objects: [ObjectKey: String], prefixes: [ObjectKey]
  ) {
    var request = ListRequest(prefix: ObjectKey(prefix), delimited: delimited)
    var objects: [ObjectKey: String] = [:]
    var prefixes: [ObjectKey] = []
    var last = ObjectKey([])
    repeat {
      let page = try await store.list(request)
      for object in page.objects {
        #expect(objects.updateValue(object.revision.version ?? "", forKey: object.key) == nil, "\(object.key) twice")
        #expect(last < object.key)
        last = object.key
      }
      prefixes += page.prefixes
      request.continuation = page.next
    } while request.continuation != nil
    return (objects, prefixes)
  }

  private static func history(pageSize: Int) -> History {
    var random = Numbers(state: 7)
    let history = History(pageSize: pageSize)
    let keys = ["a", "a/b", "a/c", "a.txt", "d/e/f", "d/e/g", "d/h", "later/x", "z", "é/ü"]
    for time in 1...60 {
      let key = keys[Int(random.next() % UInt64(keys.count))]
      if key == "later/x", time < 50 { continue }
      history.put(key, at: Int64(time), size: random.next() % 3 == 0 ? nil : Int64(time))
    }
    return history
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func `at every moment every listing shows what there was`(pageSize: Int) async throws {
    let history = Self.history(pageSize: pageSize)
    for time in stride(from: Int64(0), through: 60, by: 3) {
      let store = PastStore(history, at: WallTime(milliseconds: time * 1000 + 500))
      let truth = history.contents(at: time)
      #expect(try await list(store, "", delimited: false).objects == truth)
      for prefix in ["", "a/", "d/", "d/e/"] {
        let below = truth.filter { $0.key.bytes.starts(with: Array(prefix.utf8)) }
        let (objects, prefixes) = try await list(store, prefix, delimited: true)
        let names = below.filter { !$0.key.bytes[prefix.utf8.count...].contains(0x2F) }
        let groups = Set(
          below.keys.compactMap { key in
            key.bytes[prefix.utf8.count...].firstIndex(of: 0x2F).map { ObjectKey(Array(key.bytes[...$0])) }
          })
        #expect(objects == names)
        #expect(Set(prefixes) == groups && prefixes.count == groups.count, "at \(time) below '\(prefix)'")
      }
    }
  }

  @Test(arguments: [1, 1000])
  func `a single key is found by a listing of its versions, and read by the id of one`(pageSize: Int) async throws {
    let history = Self.history(pageSize: pageSize)
    for time in stride(from: Int64(0), through: 60, by: 7) {
      let store = PastStore(history, at: WallTime(seconds: time))
      let truth = history.contents(at: time)
      for key in ["a", "a.txt", "d/h", "nothing"].map({ ObjectKey($0) }) {
        _ = history.takeLog()
        guard let version = truth[key] else {
          await #expect(throws: StoreError.self) { try await store.get(GetRequest(key: key), into: DeafSink()) }
          await #expect(throws: StoreError.self) { try await store.head(HeadRequest(key: key)) }
          continue
        }
        _ = try await store.get(GetRequest(key: key), into: DeafSink())
        #expect(history.takeLog().last == "get \(key)@\(version)")
        _ = try await store.head(HeadRequest(key: key))
        #expect(history.takeLog().last == "head \(key)@\(version)")
        _ = history.takeLog()
        // Whose version is known needs no listing.
        _ = try await store.get(GetRequest(key: key, version: "v0"), into: DeafSink())
        #expect(history.takeLog() == ["get \(key)@v0"])
      }
    }
  }

  @Test func `a key of a thousand versions is not read to its end`() async throws {
    let history = History(pageSize: 10)
    for time in 1...1000 { history.put("log", at: Int64(time), size: Int64(time)) }
    history.put("z", at: 5, size: 1)
    let store = PastStore(history, at: WallTime(seconds: 990))
    #expect(try await list(store, "", delimited: false).objects == history.contents(at: 990))
    #expect(history.takeLog().count <= 4)
  }
}

private struct Numbers {
  var state: UInt64
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state >> 16
  }
}
