// The store against a real server, signatures checked.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Real server", .enabled(if: RealServer.isAvailable), .timeLimit(.minutes(2)))
struct RealServerTests {
  private func store(
    _ server: RealServer, _ bucket: String, _ transport: HTTPTransport, secret: String = RealServer.secretKey,
    ledger: Ledger = Ledger()
  ) throws -> S3Store {
    try makeStore(
      transport, endpoint: server.endpoint, bucket: bucket,
      credentials: FixedCredentials(Credentials(accessKeyID: RealServer.accessKey, secretAccessKey: secret)),
      ledger: ledger)
  }

  @Test func `objects are got whole, in part and conditionally`() async throws {
    let server = try await RealServer.shared()
    let bucket = try await server.makeBucket()
    let transport = try HTTPTransport()
    defer { transport.close() }
    let ledger = Ledger()
    let store = try store(server, bucket, transport, ledger: ledger)
    let key = ObjectKey("dir é/a+b &=%41 ?#'()!*.txt")
    let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await server.put(bucket, key, bytes)

    let whole = CollectingSink()
    guard case .delivered(let head) = try await store.get(GetRequest(key: key), into: whole) else {
      Issue.record("not delivered")
      return
    }
    #expect(whole.bytes == bytes && head.isWhole && head.metadata.etagIsMD5)
    let tag = try #require(head.revision.etag)
    #expect(tag.md5 == Digest.value(.md5, of: bytes))

    let part = CollectingSink()
    guard
      case .delivered(let partHead) = try await store.get(
        GetRequest(key: key, range: ByteRange(1000, 2000), condition: .ifMatch(tag)), into: part)
    else {
      Issue.record("no part")
      return
    }
    #expect(part.bytes == Array(bytes[1000..<2000]))
    #expect(partHead.revision == head.revision && partHead.start == 1000)

    guard
      case .notModified = try await store.get(
        GetRequest(key: key, condition: .ifNoneMatch(tag)), into: CollectingSink())
    else {
      Issue.record("modified")
      return
    }
    let other = EntityTag("\"00112233445566778899aabbccddeeff\"")
    let failed = await storeError {
      _ = try await store.get(GetRequest(key: key, condition: .ifMatch(other)), into: CollectingSink())
    }
    #expect(failed?.code == .preconditionFailed)
    let beyond = await storeError {
      _ = try await store.get(GetRequest(key: key, range: ByteRange(2_000_000, 2_000_001)), into: CollectingSink())
    }
    #expect(beyond?.code == .rangeNotSatisfiable)
    let missing = await storeError {
      _ = try await store.get(GetRequest(key: ObjectKey("none")), into: CollectingSink())
    }
    #expect(missing?.code == .notFound && missing?.reason == "NoSuchKey")
    #expect(try await store.head(HeadRequest(key: key)).revision == head.revision)
    #expect(ledger.sinceMount.gets == 6 && ledger.sinceMount.heads == 1 && ledger.sinceMount.notModified == 1)
  }

  @Test func `keys are listed by pages and by directory`() async throws {
    let server = try await RealServer.shared()
    let bucket = try await server.makeBucket()
    let transport = try HTTPTransport()
    defer { transport.close() }
    let store = try store(server, bucket, transport)
    for name in ["a b+c", "é", "e\u{301}", "p/1", "p/2", "x\u{1}y", "q&<>\"'"] {
      try await server.put(bucket, name, "body of \(name)")
    }
    let root = try await store.list(ListRequest(prefix: ObjectKey(""), delimited: true))
    #expect(
      Set(root.objects.map(\.key)) == Set(["a b+c", "é", "e\u{301}", "x\u{1}y", "q&<>\"'"].map { ObjectKey($0) }))
    #expect(root.prefixes == [ObjectKey("p/")])
    for object in root.objects {
      let metadata = try await store.head(HeadRequest(key: object.key))
      #expect(metadata.revision == object.revision)
    }
    let below = try await store.list(ListRequest(prefix: ObjectKey("p/"), delimited: false))
    #expect(below.objects.map(\.key) == [ObjectKey("p/1"), ObjectKey("p/2")])
    let after = try await store.list(
      ListRequest(prefix: ObjectKey("p/"), delimited: false, startAfter: ObjectKey("p/1")))
    #expect(after.objects.map(\.key) == [ObjectKey("p/2")])
    try await store.probe(deadline: nil)
  }

  @Test func `a wrong secret, no bucket and no identity are told apart`() async throws {
    let server = try await RealServer.shared()
    let bucket = try await server.makeBucket()
    let transport = try HTTPTransport()
    defer { transport.close() }
    let list = ListRequest(prefix: ObjectKey(""), delimited: true)
    let wrong = try store(server, bucket, transport, secret: "wrong")
    #expect(await storeError { _ = try await wrong.list(list) }?.reason == "SignatureDoesNotMatch")
    #expect(await storeError { _ = try await wrong.list(list) }?.code == .credentials)
    let absent = try store(server, "no-such-bucket", transport)
    #expect(await storeError { _ = try await absent.list(list) }?.code == .noSuchBucket)
    #expect(await storeError { try await absent.probe(deadline: nil) }?.code == .noSuchBucket)
    let nobody = try makeStore(
      transport, endpoint: server.endpoint, bucket: bucket, credentials: AnonymousCredentials())
    #expect(await storeError { _ = try await nobody.list(list) }?.code == .accessDenied)
  }
}
