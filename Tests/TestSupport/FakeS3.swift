// A scripted S3 server on loopback: the parts of S3 that reading needs, and every way of getting them wrong.
import MirrorPlatform
import MirrorStore
import Synchronization

/// One bucket over plain HTTP/1.1. It ends with its last reference.
public final class FakeS3: Sendable {
  private let core: FakeS3Core
  private let listener: Listener
  public let bucket: String

  public init(bucket: String = "bucket") throws {
    self.bucket = bucket
    let core = FakeS3Core(bucket: bucket)
    self.core = core
    let mode = ModeSource()
    listener = try Listener { connection in
      core.serve(connection, mode: { mode.value })
    }
    mode.listener = listener
  }
  deinit { stop() }

  public func stop() {
    core.release()
    listener.stop()
  }

  public var port: UInt16 { listener.port }
  public var endpoint: String { "http://127.0.0.1:\(listener.port)" }
  /// Connections accepted so far.
  public var connections: Int { listener.accepted }

  /// Answers, refuses or swallows.
  public var mode: ServerMode {
    get { listener.mode }
    set { listener.set(newValue) }
  }
  public func setMode(_ mode: ServerMode) { listener.set(mode) }
  /// Cuts the connections that are open, as a restarted server does.
  public func cutConnections() { listener.cutConnections() }
}

// The objects.
extension FakeS3 {
  /// Now, in whole seconds, as Last-Modified of what is put without one.
  private var now: Int64 { SystemClock().wall().seconds }

  public func put(
    _ key: String, _ bytes: [UInt8], etag: FakeObject.Tag = .digest, modified: Int64? = nil, fields: Fields = Fields(),
    storageClass: String? = nil
  ) {
    put(
      ObjectKey(key),
      .init(.bytes(bytes), etag: etag, modified: modified ?? now, fields: fields, storageClass: storageClass))
  }
  public func put(_ key: String, _ text: String, modified: Int64? = nil) {
    put(key, Array(text.utf8), modified: modified)
  }
  /// A body made up from a seed, of any size.
  public func put(_ key: String, size: Int64, seed: UInt64, etag: FakeObject.Tag = .digest, modified: Int64? = nil) {
    put(
      ObjectKey(key), .init(.generated(size: size, pattern: .init(seed: seed)), etag: etag, modified: modified ?? now))
  }
  public func put(_ key: ObjectKey, _ object: FakeObject) { core.state.withLock { $0.put(key, object) } }

  public func delete(_ key: String) { delete(ObjectKey(key)) }
  public func delete(_ key: ObjectKey) { core.state.withLock { $0.delete(key) } }
  func objects<Answer: Sendable>(_ ask: (FakeObjects) -> Answer) -> Answer { core.state.withLock { ask($0.objects) } }
  func change(_ body: (inout FakeObjects) -> Void) { core.state.withLock { body(&$0.objects) } }
  public func deleteAll() { core.state.withLock { $0.objects = FakeObjects() } }

  public func object(_ key: String) -> FakeObject? { core.state.withLock { $0.objects[ObjectKey(key)] } }
  /// The bytes under a key; empty where there is none.
  public func bytes(_ key: String) -> [UInt8] { object(key).map { $0.body.slice(0, $0.body.size) } ?? [] }
}

// The settings.
extension FakeS3 {
  public struct Settings: Sendable {
    /// Most entries of a listing page; the request's max-keys counts too.
    public var pageSize = 1000
    /// 403 to a request without the parts of a version 4 signature.
    public var requiresSignature = false
    /// 400 ExpiredToken to keys that this says no to.
    public var accepts: (@Sendable (_ accessKey: String) -> Bool)?
    /// Seconds by which the server's clock is ahead of this machine's; a signature more than 15 minutes off is refused.
    public var clockAhead: Int64 = 0
    /// False: NoSuchBucket.
    public var exists = true
    public var region = "us-east-1"
    /// What a listing says of an object's ETag, given the object's own.
    public var listedTag: @Sendable (String?) -> String? = { $0 }
    /// False: keys come as XML text whatever the request says, as servers do that do not know encoding-type.
    public var knowsEncodingType = true
    /// False: listings are of version 1, as of servers that do not know list-type.
    public var knowsListVersion2 = true
    /// What is replaced or deleted can be had by its version.
    public var keepsVersions = false
    /// 403 to a request for a version by its id.
    public var deniesVersions = false
    /// 403 to GetBucketVersioning.
    public var deniesVersioning = false
    /// False: listings leave out the size of objects.
    public var listsSizes = true
    /// False: listings come in an order that has nothing to do with the keys, each page the same for the same token.
    public var listsInOrder = true
    /// A bucket of S3 Express: asked by sessions of this many seconds, listed by directory and in no order.
    public var sessionLife: Int64?
    /// Sends listings in chunks, as AWS does.
    public var chunkedLists = false
    /// Sends the checksum of the whole with parts of it.
    public var tellsChecksumsWithParts = false
    /// Sends ETag and Last-Modified with a 304.
    public var describesNotModified = true
    public init() {}
  }
  public var settings: Settings {
    get { core.state.withLock { $0.settings } }
    set { core.state.withLock { $0.settings = newValue } }
  }
  public func configure(_ change: (inout Settings) -> Void) { core.state.withLock { change(&$0.settings) } }
}

// The faults.
extension FakeS3 {
  /// Does these to requests of a kind (nil: any) for a key (nil: any), after `skip` of them, `times` (nil: always).
  public func inject(
    _ faults: Fault..., on kind: S3RequestKind? = nil, key: String? = nil, skip: Int = 0, times: Int? = nil
  ) {
    let wanted = key.map { ObjectKey($0) }
    inject(faults, on: kind, skip: skip, times: times) { request in wanted == nil || request.key == wanted }
  }

  public func inject(
    _ faults: [Fault], on kind: S3RequestKind? = nil, skip: Int = 0, times: Int? = nil,
    where matches: @escaping @Sendable (RecordedRequest) -> Bool
  ) {
    let kinds = kind.map { [$0] } ?? Set(S3RequestKind.allCases)
    let rule = FaultRule(faults: faults, kinds: kinds, matches: matches, skip: skip, times: times)
    core.state.withLock { $0.rules.append(rule) }
  }

  /// Forgets every fault not yet met; what hangs goes on.
  public func clearFaults() {
    core.state.withLock { $0.rules = [] }
    core.release()
  }

  /// Lets go of what hangs now.
  public func release() { core.release() }
}

// The record.
extension FakeS3 {
  public var requests: [RecordedRequest] { core.state.withLock { $0.log } }
  public var sums: RequestSums { core.state.withLock { $0.sums } }
  public func requests(_ kind: S3RequestKind, key: String? = nil) -> [RecordedRequest] {
    requests.filter { $0.kind == kind && (key == nil || $0.key == key.map { ObjectKey($0) }) }
  }
  /// Forgets record and sums; objects, settings and faults stay.
  public func reset() {
    core.state.withLock {
      $0.firstNumber += $0.log.count
      $0.log = []
      $0.sums = RequestSums()
    }
  }
  /// Waits until so many requests of a kind (nil: any) have arrived since `reset`.
  public func arrived(_ count: Int, _ kind: S3RequestKind? = nil, within limit: Duration = .seconds(30)) async -> Bool {
    await eventually(within: limit) { self.requests.count { kind == nil || $0.kind == kind } >= count }
  }
}

/// Lets connections read the mode of the listener that made them, without keeping it alive.
private final class ModeSource: Sendable {
  private struct Reference { weak var listener: Listener? }
  private let reference = Mutex(Reference())
  var listener: Listener? {
    get { reference.withLock { $0.listener } }
    set { reference.withLock { $0.listener = newValue } }
  }
  var value: ServerMode { listener?.mode ?? .refuse }
}
