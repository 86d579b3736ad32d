// All that stands in the way of a first mount, one after the other: within ten seconds it works after all, or one line
// names cause and cure, with the exit code for it; and the doctor says the same.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: Machine.canMount))
struct HindranceTests {
  enum Hindrance: String, CaseIterable, Sendable {
    case wrongRegion, wrongRegionByError, regionUntold
    case wrongEndpoint, unknownHost, pageInsteadOfS3
    case wrongKey, wrongSecret, clockOff, expiredToken
    case privateAuthority, trustedAuthority
    case noListBucket, noGetObject, noSuchBucket
    case blockedMetadata, deadProxy
    case codeWanted, loginEnded, signOnEnded

    /// The exit code, and what the line holds of cause and cure.
    var told: (code: Int32, words: [String]) {
      switch self {
      case .wrongRegion, .wrongRegionByError, .clockOff, .trustedAuthority, .noGetObject: (0, [])
      case .regionUntold: (6, ["PermanentRedirect", "--region"])
      case .wrongEndpoint: (6, ["connect", "127.0.0.1", "--endpoint-url"])
      case .unknownHost: (6, ["resolve", "no-such-host.invalid", "--endpoint-url"])
      case .pageInsteadOfS3: (6, ["listing", "server"])
      case .wrongKey: (5, ["InvalidAccessKeyId", "--profile"])
      case .wrongSecret: (5, ["SignatureDoesNotMatch", "--profile"])
      case .expiredToken: (5, ["ExpiredToken", "credentials"])
      case .privateAuthority: (6, ["certificate", "--ca-bundle"])
      case .noListBucket: (5, ["AccessDenied", "s3:ListBucket"])
      case .noSuchBucket: (4, ["NoSuchBucket", "check its name"])
      case .blockedMetadata: (5, ["no credentials", "instance metadata", "--profile"])
      case .deadProxy: (6, ["connect", "http_proxy"])
      case .codeWanted: (5, ["mfa_serial", "aws configure export-credentials --profile default"])
      case .loginEnded: (5, ["2020-01-01", "aws login --profile default"])
      case .signOnEnded: (5, ["aws sso login"])
      }
    }
  }

  /// Where the mount is to go, and with what.
  private struct Way {
    let server: FakeS3
    var endpoint: String
    var options: [String] = []
    var environment: [String: String] = [:]
    /// What must last as long.
    var company: [any Sendable] = []
  }

  private func way(_ hindrance: Hindrance) async throws -> Way? {
    let server = try FakeS3()
    server.put("f", "content")
    var way = Way(server: server, endpoint: server.endpoint)
    let isElsewhere: @Sendable (RecordedRequest) -> Bool = { request in
      request.fields["authorization"]?.contains("/eu-west-3/s3/") != true
    }
    switch hindrance {
    case .wrongRegion:
      server.inject([.answer(301, Fields([("x-amz-bucket-region", "eu-west-3")]), [])], where: isElsewhere)
    case .wrongRegionByError:
      let error =
        "<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message><Region>eu-west-3</Region></Error>"
      server.inject(
        [.answer(400, Fields([("x-amz-bucket-region", "eu-west-3")]), Array(error.utf8))], where: isElsewhere)
    case .regionUntold: server.inject(.status(301, code: "PermanentRedirect"))
    case .wrongEndpoint: server.mode = .refuse
    case .unknownHost: way.endpoint = "http://no-such-host.invalid:9"
    case .pageInsteadOfS3: server.inject(.html)
    case .wrongKey:
      server.inject([.status(403, code: "InvalidAccessKeyId")]) { $0.accessKey != RealServer.accessKey }
      way.environment["AWS_ACCESS_KEY_ID"] = "AKIAWRONG"
    case .wrongSecret:
      server.inject([.status(403, code: "SignatureDoesNotMatch")]) { !$0.isSigned(with: RealServer.secretKey) }
      way.environment["AWS_SECRET_ACCESS_KEY"] = "mistyped"
    case .clockOff: server.configure { $0.clockAhead = 1200 }
    case .expiredToken:
      server.configure { $0.accepts = { _ in false } }
      way.environment["AWS_SESSION_TOKEN"] = "token"
    case .privateAuthority, .trustedAuthority:
      guard SecureServer.isAvailable else { return nil }
      let secure = try SecureServer(to: server.port)
      way.endpoint = secure.endpoint
      way.company.append(secure)
      if hindrance == .trustedAuthority { way.options = ["--ca-bundle", secure.authority] }
    case .noListBucket: server.inject(.status(403, code: "AccessDenied"), on: .list)
    case .noGetObject: server.inject(.status(403, code: "AccessDenied"), on: .get)
    case .noSuchBucket: server.configure { $0.exists = false }
    case .blockedMetadata:
      let services = try FakeIdentity()
      services.setMode(.blackhole)
      way.company.append(services)
      way.environment = [
        "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": services.endpoint,
      ]
    case .deadProxy:
      let proxy = try ForwardProxy(to: server.port)
      way.environment["http_proxy"] = proxy.endpoint
      proxy.stop()
      way.endpoint = "http://s3.example.invalid"
    case .codeWanted, .loginEnded, .signOnEnded:
      let home = try TemporaryDirectory("home")
      way.company.append(home)
      try profile(hindrance, home)
      way.environment = [
        "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CONFIG_FILE": home.file("config"), "HOME": home.path,
        "AWS_LOGIN_CACHE_DIRECTORY": home.path,
      ]
    }
    return way
  }

  /// A profile that gives no credentials without its user.
  private func profile(_ hindrance: Hindrance, _ home: TemporaryDirectory) throws {
    func write(_ name: String, _ text: String) throws {
      try FileSystem.write(Array(text.utf8), to: home.file(name), mode: 0o600)
    }
    switch hindrance {
    case .codeWanted:
      try write(
        "config",
        """
        [default]
        role_arn = arn:aws:iam::1:role/r
        source_profile = base
        mfa_serial = arn:aws:iam::1:mfa/me
        [profile base]
        aws_access_key_id = AKIA
        aws_secret_access_key = secret
        """)
    case .loginEnded:
      try write("config", "[default]\nlogin_session = me\n")
      let token = """
        {"accessToken": {"accessKeyId": "A", "secretAccessKey": "S", "sessionToken": "T",
        "expiresAt": "2020-01-01T00:00:00Z"}}
        """
      try write(hexadecimal(Digest.value(.sha256, of: Array("me".utf8))) + ".json", token)
    default:
      try write(
        "config",
        """
        [default]
        sso_session = work
        sso_account_id = 1
        sso_role_name = r
        [sso-session work]
        sso_start_url = https://example.invalid/start
        sso_region = us-east-1
        """)
    }
  }

  // A050, A052, A054, A058, A059, A061
  @Test(arguments: Hindrance.allCases)
  func `it works after all, or one line names cause and cure`(hindrance: Hindrance) async throws {
    guard let way = try await way(hindrance) else { return }
    defer { withExtendedLifetime(way.company) {} }
    let mount = try MountFixture(way.server.bucket, endpoint: way.endpoint, environment: way.environment)
    let started = ContinuousClock.now
    let result = try await mount.mount(way.options)
    #expect(ContinuousClock.now - started < .seconds(10))
    #expect(result.status == hindrance.told.code, "\(result)")
    #expect(result.output.isEmpty && !result.errors.contains(RealServer.secretKey))
    if hindrance.told.code == 0 {
      #expect(result.errors.isEmpty, "\(result)")
      if hindrance == .noGetObject {
        #expect(try await mount.list() == ["f"])
        #expect(await mount.errno { _ = try await mount.read("f") } == .accessDenied)
      } else {
        #expect(try await mount.text("f") == "content")
      }
    } else {
      #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
      for word in hindrance.told.words { #expect(result.errors.contains(word), "no \(word) in \(result)") }
      #expect(!mount.isMounted && mount.daemon == nil)
    }
  }

  @Test(arguments: Hindrance.allCases)
  func `the doctor finds the same`(hindrance: Hindrance) async throws {
    guard let way = try await way(hindrance) else { return }
    defer { withExtendedLifetime(way.company) {} }
    let fixture = try MountFixture(way.server.bucket, endpoint: way.endpoint, environment: way.environment)
    let started = ContinuousClock.now
    let result = try await fixture.command(
      ["doctor", "--endpoint-url", way.endpoint, "--cache-dir", fixture.cache] + way.options + [way.server.bucket])
    #expect(ContinuousClock.now - started < .seconds(10))
    // What may not be read lets itself be mounted, and is found here.
    #expect(result.status == (hindrance == .noGetObject ? 5 : hindrance.told.code), "\(result)")
    let failures = result.output.split(separator: "\n").filter { $0.hasPrefix("FAIL") }
    #expect(failures.count == (result.status == 0 ? 0 : 1), "\(result)")
    if hindrance == .noGetObject { #expect(failures.first?.contains("s3:GetObject") == true, "\(result)") }
    if hindrance == .clockOff { #expect(result.output.contains("note  clock: "), "\(result)") }
  }
}
