// Each source of credentials end to end: from its setting through its service to an object that only they open.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Sources of credentials", .timeLimit(.minutes(2)))
struct CredentialSourceTests {
  private let keys = "aws_access_key_id = BASE\naws_secret_access_key = basesecret\n"

  @Test func `a role is assumed by the keys of another profile`() async throws {
    let scene = try Scene()
    let provider = try scene.provider(
      config: """
        [profile a]
        role_arn = arn:aws:iam::1:role/external
        external_id = shared secret+/
        role_session_name = me
        duration_seconds = 900
        source_profile = base
        region = eu-west-1
        [profile base]
        \(keys)
        """, profile: "a")
    #expect(try await scene.read(provider) == nil)
    #expect(scene.kind == "ROLE")
    let form = try #require(scene.services.requests.last?.form)
    #expect(form["RoleSessionName"] == "me" && form["DurationSeconds"] == "900")
    #expect(scene.services.requests.last?.fields["authorization"]?.contains("/eu-west-1/sts/") == true)
    #expect(scene.bucket.requests.last?.fields["x-amz-security-token"] == "token/+=ROLE2")
    // What is fetched is kept.
    #expect(try await scene.read(provider) == nil)
    #expect(scene.services.requests.count == 1)
  }

  @Test func `roles chain through STS`() async throws {
    let scene = try Scene()
    let provider = try scene.provider(
      config: """
        [default]
        role_arn = arn:aws:iam::1:role/second
        source_profile = first
        [profile first]
        role_arn = arn:aws:iam::1:role/first
        source_profile = base
        [profile base]
        \(keys)
        """)
    #expect(try await scene.read(provider) == nil)
    #expect(scene.services.requests.map { $0.form["RoleArn"]?.hasSuffix("first") } == [true, false])
    #expect(scene.services.requests[1].fields["x-amz-security-token"] == "token/+=ROLE2")
  }

  @Test func `a role that may not be assumed says so, and no other identity is taken`() async throws {
    let scene = try Scene()
    let provider = try scene.provider(
      config: "[default]\nrole_arn = arn:aws:iam::1:role/denied\nsource_profile = base\n[profile base]\n\(keys)")
    let error = try await scene.read(provider)
    #expect(error?.code == .credentials && error?.message.contains("AccessDenied") == true)
    #expect(error?.message.contains("sts:AssumeRole") == true)
    #expect(scene.bucket.requests.isEmpty)
  }

  @Test func `a clock that is off is made up for at STS too`() async throws {
    let scene = try Scene()
    scene.services.configure { $0.clockAhead = 3600 }
    let provider = try scene.provider(
      config: "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n[profile base]\n\(keys)")
    #expect(try await scene.read(provider) == nil)
    #expect(scene.services.requests.count == 2)
  }

  // A053
  @Test func `web identity reads its token file each time`() async throws {
    let scene = try Scene()
    let environment = [
      "AWS_WEB_IDENTITY_TOKEN_FILE": scene.home.file("token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/web",
      "AWS_ROLE_SESSION_NAME": "pod",
    ]
    try scene.write("old.token\n", to: "token")
    let provider = try scene.provider(environment)
    let error = try await scene.read(provider)
    #expect(error?.code == .credentials && error?.message.contains("the token has expired") == true)
    try scene.write("web.identity.token\n", to: "token")
    let again = try scene.provider(environment)
    #expect(try await scene.read(again) == nil)
    #expect(scene.kind == "ROLE")
    #expect(scene.services.requests.last?.fields["authorization"] == nil)
  }

  private let session = """
    [default]
    sso_session = corp
    sso_account_id = 123456789012
    sso_role_name = Reader
    [sso-session corp]
    sso_start_url = https://corp.awsapps.com/start
    sso_region = eu-west-1
    """

  private func token(_ text: String, ends: Int64, refresh: Bool = false) -> String {
    let end = Timestamp(seconds: SystemClock().wall().seconds + ends).rfc3339
    let later = Timestamp(seconds: SystemClock().wall().seconds + 9999).rfc3339
    return """
      {"startUrl": "https://corp.awsapps.com/start", "region": "eu-west-1", "accessToken": "\(text)",
       "expiresAt": "\(end)", "clientId": "client", "clientSecret": "clientsecret",
       "registrationExpiresAt": "\(later)"\(refresh ? ", \"refreshToken\": \"refresh-1\"" : "")}
      """
  }

  private var cache: String {
    ".aws/sso/cache/\(hexadecimal(Digest.value(.sha1, of: Array("corp".utf8)))).json"
  }

  @Test func `a single sign-on gives a role's keys`() async throws {
    let scene = try Scene()
    try scene.write(token("session-1", ends: 3600), to: cache)
    #expect(try await scene.read(try scene.provider(config: session)) == nil)
    #expect(scene.kind == "SSO")
  }

  @Test func `an old form of single sign-on is found by its start URL`() async throws {
    let scene = try Scene()
    let name = hexadecimal(Digest.value(.sha1, of: Array("https://corp".utf8)))
    try scene.write(token("session-1", ends: 3600), to: ".aws/sso/cache/\(name).json")
    let config = """
      [profile old]
      sso_start_url = https://corp
      sso_region = eu-west-1
      sso_account_id = 123456789012
      sso_role_name = Reader
      """
    #expect(try await scene.read(try scene.provider(config: config, profile: "old")) == nil)
  }

  @Test func `a session that is over says which command renews it, and is found once it was`() async throws {
    let scene = try Scene()
    let none = try await scene.read(try scene.provider(config: session))
    #expect(none?.message.contains("aws sso login --profile default") == true)
    try scene.write(token("session-1", ends: -10), to: cache)
    let over = try await scene.read(try scene.provider(config: session))
    #expect(over?.code == .credentials && over?.message.contains("aws sso login --profile default") == true)
    try scene.write(token("not any more", ends: 3600), to: cache)
    let refused = try await scene.read(try scene.provider(config: session))
    #expect(refused?.message.contains("aws sso login --profile default") == true)
    #expect(scene.bucket.requests.isEmpty)
  }

  @Test func `a session near its end is renewed by its refresh token, and the new one kept`() async throws {
    let scene = try Scene()
    try scene.write(token("session-1", ends: 60, refresh: true), to: cache)
    #expect(try await scene.read(try scene.provider(config: session)) == nil)
    let kept = try #require(JSON(parsing: try FileSystem.read(scene.home.file(cache))))
    #expect(kept["accessToken"]?.string == "session-2" && kept["refreshToken"]?.string == "refresh-2")
    #expect(kept["clientId"]?.string == "client")
    #expect(try FileSystem.attributes(scene.home.file(cache)).permissions == 0o600)
  }

  @Test(arguments: [Int64.max, .min, -1, 1 << 62])
  func `a renewed session may be said to last for any time`(life: Int64) async throws {
    let scene = try Scene()
    scene.services.configure { $0.sessionLife = life }
    try scene.write(token("session-1", ends: 60, refresh: true), to: cache)
    #expect(try await scene.read(try scene.provider(config: session)) == nil)
    let kept = try #require(JSON(parsing: try FileSystem.read(scene.home.file(cache))))
    let end = try #require(kept["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) })
    let now = SystemClock().wall().seconds
    #expect(life > 0 ? end.seconds > now + 1 << 31 : abs(end.seconds - now) < 60)
  }

  @Test func `a program hands out keys`() async throws {
    let scene = try Scene()
    try scene.write(
      "#!/bin/sh\necho secret >&2\nprintf '{\"Version\": 1, \"AccessKeyId\": \"BASE\", \"SecretAccessKey\": \"%s\"}' \"$1\"\n",
      to: "keys")
    try FileSystem.setPermissions(scene.home.file("keys"), 0o700)
    let provider = try scene.provider(
      config: "[default]\ncredential_process = \(scene.home.file("keys")) 'base secret'\n")
    #expect(try await scene.read(provider) == nil)
    #expect(try await provider.identity()?.credentials?.secretAccessKey == "base secret")
  }

  @Test(arguments: [
    ("exit 3", "exit code 3"), ("echo '{}'", "no credentials of version 1"), ("echo nonsense", "no credentials"),
    (
      "echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Expiration\":\"2020-01-01T00:00:00Z\"}'",
      "have ended"
    ),
  ])
  func `a program that fails is an error that says how`(script: String, word: String) async throws {
    let scene = try Scene()
    try scene.write("#!/bin/sh\n\(script)\n", to: "keys")
    try FileSystem.setPermissions(scene.home.file("keys"), 0o700)
    let error = try await scene.read(
      try scene.provider(config: "[default]\ncredential_process = \(scene.home.file("keys"))\n"))
    #expect(error?.code == .credentials && error?.message.contains(word) == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test func `what aws login left is used until it ends`() async throws {
    let scene = try Scene()
    let name = hexadecimal(Digest.value(.sha256, of: Array("arn:aws:iam::1:user/me".utf8)))
    func login(_ ends: Int64) -> String {
      let end = Timestamp(seconds: SystemClock().wall().seconds + ends).rfc3339
      return
        "{\"accessToken\":{\"accessKeyId\":\"BASE\",\"secretAccessKey\":\"s\",\"sessionToken\":\"t\",\"accountId\":\"1\",\"expiresAt\":\"\(end)\"}}"
    }
    let config = "[default]\nlogin_session = arn:aws:iam::1:user/me\n"
    try scene.write(login(3600), to: ".aws/login/cache/\(name).json")
    #expect(try await scene.read(try scene.provider(config: config)) == nil)
    try scene.write(login(-1), to: ".aws/login/cache/\(name).json")
    #expect(
      try await scene.read(try scene.provider(config: config))?.message.contains("aws login --profile default") == true)
  }

  @Test func `a container's agent is asked with the token of the file, read each time`() async throws {
    let scene = try Scene()
    try scene.write("Bearer-one\n", to: "agent-token")
    scene.services.configure { $0.containerToken = "Bearer-one" }
    let environment = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": scene.services.endpoint + "/container/creds?x=1",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": scene.home.file("agent-token"),
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": "not this",
    ]
    let provider = try scene.provider(environment)
    #expect(try await scene.read(provider) == nil)
    #expect(scene.kind == "TASK")
    scene.services.configure { $0.containerToken = "Bearer-two" }
    let refused = try await scene.read(try scene.provider(environment))
    #expect(refused?.message.contains("401") == true && refused?.message.contains("creds") == false)
    try scene.write("Bearer-two", to: "agent-token")
    #expect(try await scene.read(try scene.provider(environment)) == nil)
  }

  @Test(arguments: [
    "http://example.com/c", "http://10.0.0.1/c", "http://127.0.0.1.evil.example/c", "ftp://localhost/c",
  ])
  func `a container's token goes in the clear to this machine only`(url: String) async throws {
    let scene = try Scene()
    let provider = try scene.provider(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url])
    #expect(try await scene.read(provider)?.code == .credentials)
    #expect(scene.services.requests.isEmpty)
  }

  @Test(arguments: [true, false])
  func `an instance's role is read with a token, and without where there are none`(knowsTokens: Bool) async throws {
    let scene = try Scene()
    scene.services.configure { $0.knowsTokens = knowsTokens }
    let provider = try scene.provider(["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint])
    #expect(try await scene.read(provider) == nil)
    #expect(scene.kind == "IMDS")
    #expect(scene.services.requests.map(\.method) == ["PUT", "GET", "GET"])
  }

  @Test func `the older form can be forbidden, by the profile too`() async throws {
    let scene = try Scene()
    scene.services.configure { $0.knowsTokens = false }
    let provider = try scene.provider(
      ["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint],
      config: "[default]\nec2_metadata_v1_disabled = true\nec2_metadata_service_endpoint = http://127.0.0.1:1\n")
    #expect(try await scene.read(provider)?.code == .credentials)
    #expect(scene.services.requests.count == 1)
  }

  // A052
  @Test(arguments: [ServerMode.refuse, .blackhole])
  func `blocked instance metadata fails within seconds and says what is missing`(mode: ServerMode) async throws {
    let scene = try Scene()
    scene.services.setMode(mode)
    let provider = try scene.provider(["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint])
    let start = SystemClock().now()
    let error = try await scene.read(provider)
    #expect(SystemClock().now() - start < .seconds(5))
    #expect(error?.code == .credentials, "\(error.map { "\($0)" } ?? "")")
    // The next who asks is not kept waiting for it again.
    let next = SystemClock().now()
    _ = try await scene.read(provider)
    #expect(SystemClock().now() - next < .milliseconds(500))
  }

  @Test func `an instance without a role says so`() async throws {
    let scene = try Scene()
    scene.services.configure { $0.role = nil }
    let provider = try scene.provider(["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint])
    #expect(try await scene.read(provider)?.message.contains("this instance has no role") == true)
  }

  @Test func `a role may be assumed by an instance's`() async throws {
    let scene = try Scene()
    let provider = try scene.provider(
      ["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint],
      config: "[default]\nrole_arn = arn:aws:iam::1:role/r\ncredential_source = Ec2InstanceMetadata\n")
    #expect(try await scene.read(provider) == nil)
    #expect(scene.kind == "ROLE")
  }

  @Test func `keys that the origin refuses are fetched anew`() async throws {
    let scene = try Scene()
    let provider = try scene.provider(["AWS_EC2_METADATA_SERVICE_ENDPOINT": scene.services.endpoint])
    #expect(try await scene.read(provider) == nil)
    try await Task.sleep(for: .milliseconds(1100))
    scene.services.revokeAll()
    #expect(try await scene.read(provider) == nil)
    #expect(scene.bucket.requests.count == 3)
  }

  /// Ten seconds here; a minute by S3MIRROR_TEST_LONG.
  // A051
  @Test func `keys that change every two seconds fail no request under load`() async throws {
    let scene = try Scene()
    scene.services.configure {
      // Whole seconds on the wire: the last is one that is half over.
      $0.life = 4
    }
    let provider = try scene.provider([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": scene.services.endpoint + "/container"
    ])
    let store = try scene.store(provider)
    let time = Duration.seconds(ProcessEnvironment.read()["S3MIRROR_TEST_LONG"] == nil ? 10 : 60)
    let end = SystemClock().now() + time
    let tally = RequestTally()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          while SystemClock().now() < end {
            let error = await storeError {
              _ = try await store.get(GetRequest(key: ObjectKey("k")), into: CollectingSink())
            }
            tally.note(error)
          }
        }
      }
    }
    #expect(tally.failures == [])
    #expect(tally.reads > 100)
    let turns = Int(time.secondsValue / 4)
    #expect(scene.services.handedOut >= turns && scene.services.handedOut <= 4 * turns)
    #expect(scene.bucket.sums.failed == 0)
  }
}
