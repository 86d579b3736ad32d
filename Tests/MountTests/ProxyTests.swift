// The proxy that the environment names, and hosts that are reached without it.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: Machine.canMount))
struct ProxyTests {
  private func bucket() throws -> FakeS3 {
    let server = try FakeS3()
    server.put("f", "content")
    server.configure { $0.requiresSignature = true }
    return server
  }

  // A059
  @Test func `requests go through the proxy of the environment`() async throws {
    let server = try bucket()
    let proxy = try ForwardProxy(to: server.port)
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: "http://s3.example.invalid", environment: ["http_proxy": proxy.endpoint])
    #expect(try await mount.text("f") == "content")
    #expect(proxy.requests.contains { $0.hasPrefix("GET http://s3.example.invalid/bucket") })
  }

  // A059
  @Test(.enabled(if: SecureServer.isAvailable))
  func `TLS goes through the proxy in a tunnel`() async throws {
    let server = try bucket()
    let secure = try SecureServer(to: server.port)
    let proxy = try ForwardProxy(to: secure.port)
    // The certificate is for this name, the proxy leads there whatever the port.
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: "https://localhost:4443", options: ["--ca-bundle", secure.authority],
      environment: ["HTTPS_PROXY": proxy.endpoint, "NO_PROXY": ""])
    #expect(try await mount.text("f") == "content")
    #expect(proxy.requests.allSatisfy { $0 == "CONNECT localhost:4443" } && !proxy.requests.isEmpty)
  }

  // A059
  @Test func `a host of NO_PROXY is reached without it`() async throws {
    let server = try bucket()
    let proxy = try ForwardProxy(to: server.port)
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: server.endpoint,
      environment: ["http_proxy": proxy.endpoint, "NO_PROXY": "example.com,127.0.0.1"])
    #expect(try await mount.text("f") == "content")
    #expect(proxy.requests.isEmpty)
  }

  // A059
  @Test func `a dead proxy is named within seconds`() async throws {
    let server = try bucket()
    let proxy = try ForwardProxy(to: server.port)
    let dead = proxy.endpoint
    proxy.stop()
    let fixture = try MountFixture(
      server.bucket, endpoint: "http://s3.example.invalid",
      environment: ["http_proxy": dead.replacingScheme(with: "http://user:secret@")])
    let start = ContinuousClock.now
    let result = try await fixture.mount()
    #expect(ContinuousClock.now - start < .seconds(10))
    #expect(!result.succeeded)
    #expect(result.errors.contains("http_proxy") && result.errors.contains(dead.replacingScheme(with: "")), "\(result)")
    #expect(!result.errors.contains("secret"))
    #expect(server.requests.isEmpty)
  }

  // A058
  @Test(.enabled(if: SecureServer.isAvailable))
  func `a certificate that nothing vouches for is refused with its cure`() async throws {
    let server = try bucket()
    let secure = try SecureServer(to: server.port)
    let fixture = try MountFixture(server.bucket, endpoint: secure.endpoint)
    let result = try await fixture.mount()
    #expect(!result.succeeded && result.errors.contains("--ca-bundle"), "\(result)")
    let mount = try await MountFixture.mounted(
      server.bucket, endpoint: secure.endpoint, environment: ["AWS_CA_BUNDLE": secure.authority])
    #expect(try await mount.text("f") == "content")
  }
}

extension String {
  fileprivate func replacingScheme(with prefix: String) -> String { prefix + dropFirst("http://".count) }
}
