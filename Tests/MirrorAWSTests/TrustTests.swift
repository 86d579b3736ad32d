// Whom a connection is made with: authorities, certificates of our own, and IPv6.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Trust", .timeLimit(.minutes(1)), .enabled(if: SecureServer.isAvailable))
struct TrustTests {
  private func read(
    _ server: SecureServer, _ change: (inout HTTPSettings) -> Void
  ) async throws -> StoreError? {
    var settings = HTTPSettings()
    change(&settings)
    let transport = try HTTPTransport(settings)
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    return await storeError { _ = try await store.get(GetRequest(key: ObjectKey("k")), into: CollectingSink()) }
  }

  @Test func `an authority of one's own is trusted by its file, and not without`() async throws {
    let bucket = try FakeS3()
    bucket.put("k", "content")
    let server = try SecureServer(to: bucket.port)
    #expect(try await read(server) { $0.caBundle = server.authority } == nil)
    #expect(try await read(server) { _ in }?.code == .tls)
    #expect(bucket.requests.count == 1)
    #expect(try await read(server) { $0.caBundle = "/nonexistent.pem" }?.code == .tls)
  }

  @Test func `a server that asks for a certificate is shown one`() async throws {
    let bucket = try FakeS3()
    bucket.put("k", "content")
    let server = try SecureServer(to: bucket.port, asksForCertificate: true)
    let error = try await read(server) {
      $0.caBundle = server.authority
      $0.clientCertificate = server.clientCertificate
      $0.clientKey = server.clientKey
    }
    #expect(error == nil)
    #expect(try await read(server) { $0.caBundle = server.authority } != nil)
    #expect(bucket.requests.count == 1)
  }

  @Test func `further connections take up the session of the first`() async throws {
    let bucket = try FakeS3()
    bucket.put("k", "content")
    let server = try SecureServer(to: bucket.port)
    var settings = HTTPSettings()
    settings.caBundle = server.authority
    let transport = try HTTPTransport(settings)
    defer { transport.close() }
    let store = try makeStore(transport, endpoint: server.endpoint)
    let request = GetRequest(key: ObjectKey("k"))
    _ = try await store.get(request, into: CollectingSink())
    // Together they need a connection each.
    bucket.inject(.hang, times: 3)
    async let first = store.get(request, into: CollectingSink())
    async let second = store.get(request, into: CollectingSink())
    async let third = store.get(request, into: CollectingSink())
    #expect(await eventually { bucket.requests.count == 4 })
    bucket.release()
    _ = try await (first, second, third)
    // Two that begin at the same moment may have but one ticket between them (RFC 8446 appendix C.4).
    #expect(server.handshakes.new + server.handshakes.resumed == 3)
    #expect(server.handshakes.resumed >= 1)
  }
}
