// Objects that come in parts: checksums of the parts, values that are the whole object's, and bodies that break off.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization
import Testing

@testable import MirrorAWS

@Suite("Checksums of parts", .timeLimit(.minutes(1)))
struct PartChecksumTests {
  private let key = ObjectKey("k")
  private static let body = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 3) }

  private static func crc(_ bytes: some Collection<UInt8>, _ algorithm: RedundancyCheck.Algorithm = .crc32c) -> String {
    var check = RedundancyCheck(algorithm)
    check.update(Array(bytes).span.bytes)
    return base64(RedundancyCheck.bytes(check.value, algorithm))
  }

  /// The range asked for, with a checksum that `sum` gives for it; `damage` changes the body sent.
  private func server(
    type: String? = nil, sum: @escaping @Sendable (Range<Int>) -> String?,
    damage: @escaping @Sendable (Int, inout [UInt8]) -> Void = { _, _ in }
  ) -> ScriptedClient {
    ScriptedClient { request, index in
      let ends = (request.field("range") ?? "bytes=0-999").dropFirst(6).split(separator: "-").compactMap { Int($0) }
      let range = ends[0]..<(ends[1] + 1)
      var part = Array(Self.body[range])
      var fields = [
        ("Content-Length", "\(part.count)"), ("ETag", "\"abc-3\""),
        ("Content-Range", "bytes \(ends[0])-\(ends[1])/1000"),
      ]
      if let value = sum(range) { fields.append(("x-amz-checksum-crc32c", value)) }
      if let type { fields.append(("x-amz-checksum-type", type)) }
      damage(index, &part)
      return ScriptedAnswer(status: 206, fields: fields, body: part)
    }
  }

  private func get(_ store: S3Store, _ range: Range<Int64>) async -> (error: StoreError?, sink: CollectingSink) {
    let sink = CollectingSink()
    let error = await storeError {
      _ = try await store.get(
        GetRequest(
          key: key, range: ByteRange(range.lowerBound, range.upperBound), condition: .ifMatch(EntityTag("\"abc-3\""))),
        into: sink)
    }
    return (error, sink)
  }

  @Test func `a part that has a checksum of its own is proven by it, and damage told`() async throws {
    let client = server(type: "COMPOSITE", sum: { Self.crc(Self.body[$0]) }) { index, part in
      if index == 1 { part[3] ^= 1 }
    }
    let store = try makeStore(client)
    let first = await get(store, 0..<400)
    #expect(first.error == nil && first.sink.head?.provenFrom == 0)
    let second = await get(store, 400..<800)
    #expect(second.error?.code == .checksumMismatch)
    #expect(second.error?.message.contains("400-799") == true)
    // The second opinion comes over another connection, and so does the next request.
    #expect(client.requests.count == 3 && client.requests[2].isFresh)
    #expect(await get(store, 400..<800).error == nil)
    #expect(client.requests.last?.isFresh == true)
  }

  @Test func `a value that is not the part's is found out with one more GET, and parts are joined to it`() async throws
  {
    let whole = Self.crc(Self.body)
    let client = server(type: "FULL_OBJECT", sum: { _ in whole })
    let store = try makeStore(client)
    for range in [300..<700, 0..<300, 700..<1000] as [Range<Int64>] { #expect(await get(store, range).error == nil) }
    #expect(client.requests.count == 4)
    #expect(await get(store, 0..<300).sink.head?.provenFrom == nil)
  }

  @Test func `parts that do not join to the object's value are damaged`() async throws {
    let whole = Self.crc(Self.body)
    let client = server(type: "FULL_OBJECT", sum: { _ in whole }) { index, part in if index == 2 { part[7] ^= 4 } }
    let store = try makeStore(client)
    #expect(await get(store, 0..<400).error == nil)
    #expect(await get(store, 400..<700).error == nil)
    #expect(await get(store, 700..<1000).error?.code == .checksumMismatch)
    // All of it is asked for again.
    for range in [0..<400, 400..<700, 700..<1000] as [Range<Int64>] { #expect(await get(store, range).error == nil) }
  }

  @Test func `a part of what was damaged is believed once two transfers agree, though its value says nothing`()
    async throws
  {
    let whole = Self.crc(Self.body)
    let client = server(type: "FULL_OBJECT", sum: { _ in whole }) { index, part in
      if [0, 1, 4].contains(index) { part[7 + index] ^= 4 }
    }
    let store = try makeStore(client)
    #expect(await get(store, 0..<400).error?.code == .checksumMismatch)
    #expect(await get(store, 400..<700).error == nil)
    #expect(await get(store, 0..<400).error?.code == .checksumMismatch)
    for range in [0..<400, 700..<1000] as [Range<Int64>] { #expect(await get(store, range).error == nil) }
  }

  @Test func `values that are nobody's do not keep an object from being read`() async throws {
    let client = server(sum: { _ in "AAAAAA==" })
    let store = try makeStore(client)
    var mismatches = 0
    for _ in 0..<3 {
      for range in [0..<500, 500..<1000] as [Range<Int64>] {
        if await get(store, range).error?.code == .checksumMismatch { mismatches += 1 }
      }
    }
    #expect(mismatches == 1)
  }

  @Test func `a composite value of parts is not compared`() async throws {
    let client = server(type: "COMPOSITE", sum: { _ in "Eo25Yg==-2" })
    let store = try makeStore(client)
    #expect(await get(store, 0..<400).error == nil && client.requests.count == 1)
  }

  /// A whole body that breaks off after 400 bytes, then its rest; with a byte changed in one of the two.
  private func broken(damageAt place: Int?, busyAt: Int? = nil) -> ScriptedClient {
    ScriptedClient { request, index in
      if index == busyAt { return .error(503, "SlowDown") }
      var body = Self.body
      if let place, index < 2 { body[place] ^= 1 }
      var fields = [("ETag", "\"abc-3\"")]
      if index == 0 || request.field("range") == nil {
        fields += [
          ("Content-Length", "1000"), ("x-amz-checksum-crc64nvme", Self.crc(Self.body, .crc64nvme)),
          ("x-amz-checksum-type", "FULL_OBJECT"),
        ]
        if index == 0 {
          return ScriptedAnswer(status: 200, fields: fields, body: Array(body[..<400]), error: .interrupted)
        }
        return ScriptedAnswer(status: 200, fields: fields, body: body)
      }
      fields += [("Content-Length", "600"), ("Content-Range", "bytes 400-999/1000")]
      return ScriptedAnswer(status: 206, fields: fields, body: Array(body[400...]))
    }
  }

  @Test(arguments: [nil, 10, 900])
  func `a body that breaks off is proven together with its rest`(place: Int?) async throws {
    let store = try makeStore(broken(damageAt: place))
    let first = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
    #expect(first?.code == .interrupted)
    let (error, sink) = await get(store, 400..<1000)
    #expect(sink.head?.provenFrom == 0)
    #expect(error?.code == (place == nil ? nil : .checksumMismatch))
  }

  @Test func `the digest of what broke off outlives an error in place of its rest`() async throws {
    let store = try makeStore(broken(damageAt: 10, busyAt: 1))
    _ = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
    #expect(await get(store, 400..<1000).error?.code == .throttled)
    #expect(await get(store, 400..<1000).error?.code == .checksumMismatch)
  }

  @Test func `without a type the value of a whole object is believed once it has agreed`() async throws {
    let fields = [("x-amz-checksum-crc32", "DUoRhQ==")]
    let sound = ScriptedAnswer.object("hello world", etag: "\"x-2\"", fields: fields)
    var damaged = sound
    damaged.body = Array("hello worlD".utf8)
    let client = ScriptedClient(sound, damaged, sound, sound)
    let store = try makeStore(client)
    for expected in [nil, StoreError.Code.checksumMismatch, nil] {
      let error = await storeError { _ = try await store.get(GetRequest(key: key), into: CollectingSink()) }
      #expect(error?.code == expected)
    }
    #expect(client.requests.count == 4)
  }
}
