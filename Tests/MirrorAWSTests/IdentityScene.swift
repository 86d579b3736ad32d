// What the tests of credentials stand on: services that hand them out, a bucket that believes them, a home directory.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@testable import MirrorAWS

/// The services, a bucket that believes what they hand out, and a home directory.
struct Scene {
  let services: FakeIdentity
  let bucket: FakeS3
  let home: TemporaryDirectory
  let transport: HTTPTransport

  init() throws {
    let services = try FakeIdentity()
    self.services = services
    bucket = try FakeS3()
    bucket.put("k", "content")
    bucket.configure {
      $0.requiresSignature = true
      $0.accepts = { services.isValid($0) }
    }
    home = try TemporaryDirectory("identity")
    for directory in [".aws", ".aws/sso", ".aws/sso/cache", ".aws/login", ".aws/login/cache"] {
      try FileSystem.makeDirectory(home.file(directory))
    }
    transport = try HTTPTransport()
    services.enroll("BASE", secret: "basesecret")
  }

  func write(_ text: String, to name: String) throws {
    try FileSystem.write(Array(text.utf8), to: home.file(name), mode: 0o600)
  }

  func provider(_ environment: [String: String] = [:], config: String = "", profile: String? = nil) throws
    -> StandardCredentials
  {
    try write(config, to: ".aws/config")
    var environment = environment
    environment["HOME"] = home.path
    for service in ["STS", "SSO", "SSO_OIDC"] { environment["AWS_ENDPOINT_URL_\(service)"] = services.endpoint }
    if environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == nil { environment["AWS_EC2_METADATA_DISABLED"] = "true" }
    return StandardCredentials(environment: environment, profile: profile, exchanger: transport)
  }

  func store(_ provider: any CredentialProvider) throws -> S3Store {
    try makeStore(transport, endpoint: bucket.endpoint, credentials: provider)
  }

  /// Reads the object; nil, or why not.
  func read(_ provider: any CredentialProvider) async throws -> StoreError? {
    let store = try store(provider)
    let sink = CollectingSink()
    let error = await storeError { _ = try await store.get(GetRequest(key: ObjectKey("k")), into: sink) }
    if error == nil { #expect(sink.text == "content") }
    return error
  }

  /// By which kind of keys the last request came.
  var kind: String {
    let header = bucket.requests.last?.fields["authorization"] ?? ""
    return String(header.dropFirst("AWS4-HMAC-SHA256 Credential=".count).prefix { $0.isLetter })
  }
}

/// What became of the requests of several tasks.
final class RequestTally: Sendable {
  private let state = Mutex((reads: 0, failures: [String]()))
  var reads: Int { state.withLock { $0.reads } }
  var failures: [String] { state.withLock { $0.failures } }
  func note(_ error: StoreError?) {
    state.withLock { state in
      state.reads += 1
      if let error { state.failures.append("\(error)") }
    }
  }
}
