// The shared files and the environment, and what they decide.
import MirrorPlatform
import MirrorStore
import TestSupport
import Testing

@testable import MirrorAWS

@Suite("Shared files", .timeLimit(.minutes(1)))
struct SettingsTests {
  @Test func `sections, comments, quotes and nested blocks are read`() {
    let file = ConfigFile(
      parsing: """
        # comment
        [default]
        region = eu-west-1 ; where we live
        ; another
        [profile "with space"]
        aws_secret_access_key = a#b;c=d=
        s3 =
          addressing_style = path
          use_accelerate_endpoint=true
        endpoint_url=http://x
        garbage
        [services local]
        s3 =
        \tendpoint_url = http://127.0.0.1:9000
        sqs =
          endpoint_url = http://127.0.0.1:9324
        """)
    #expect(file.sections["default"] == ["region": "eu-west-1"])
    #expect(
      file.sections["profile with space"] == [
        "aws_secret_access_key": "a#b;c=d=", "s3.addressing_style": "path", "s3.use_accelerate_endpoint": "true",
        "endpoint_url": "http://x",
      ])
    #expect(file.sections["services local"]?["s3.endpoint_url"] == "http://127.0.0.1:9000")
    #expect(file.sections["services local"]?["sqs.endpoint_url"] == "http://127.0.0.1:9324")
  }

  @Test func `a carriage return at the line end is no part of a value`() {
    #expect(ConfigFile(parsing: "[a]\r\nregion=x\r\n").sections["a"] == ["region": "x"])
  }

  private func home(config: String = "", credentials: String = "") throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory("aws")
    try FileSystem.makeDirectory(directory.file(".aws"))
    try FileSystem.write(Array(config.utf8), to: directory.file(".aws/config"), mode: 0o600)
    try FileSystem.write(Array(credentials.utf8), to: directory.file(".aws/credentials"), mode: 0o600)
    return directory
  }

  @Test func `a profile joins both files, and the credentials file's keys win as a pair`() throws {
    let home = try home(
      config: """
        [profile dev]
        region = eu-west-3
        services = local
        aws_access_key_id = OLD
        aws_secret_access_key = oldsecret
        aws_session_token = oldtoken
        [services local]
        s3 =
          endpoint_url = http://127.0.0.1:9000
        """,
      credentials: "[dev]\naws_access_key_id=NEW\naws_secret_access_key=newsecret\n")
    let source = AWSProfileSource(environment: ["HOME": home.path, "AWS_PROFILE": "dev"])
    let profile = try #require(source.read())
    #expect(profile.credentials == Credentials(accessKeyID: "NEW", secretAccessKey: "newsecret"))
    #expect(profile.region == "eu-west-3")
    #expect(profile.endpointURL == "http://127.0.0.1:9000")
    #expect(AWSProfileSource(environment: ["HOME": home.path], profile: "none").read() == nil)
  }

  @Test func `the environment goes before the profile, and the S3 endpoint before the general one`() {
    let profile = AWSProfile(
      name: "p",
      values: ["region": "r1", "endpoint_url": "http://p", "max_attempts": "7", "s3.addressing_style": "virtual"])
    let plain = AWSSettings(environment: [:], profile: profile)
    #expect(plain.region == "r1" && plain.endpointURL == "http://p" && plain.maximumAttempts == 7)
    #expect(plain.options.pathStyle == false)
    let settings = AWSSettings(
      environment: [
        "AWS_REGION": "r2", "AWS_DEFAULT_REGION": "r3", "AWS_ENDPOINT_URL": "http://e",
        "AWS_ENDPOINT_URL_S3": "http://s3", "AWS_MAX_ATTEMPTS": "0", "AWS_CA_BUNDLE": "/ca.pem",
      ], profile: profile)
    #expect(settings.region == "r2" && settings.endpointURL == "http://s3" && settings.caBundle == "/ca.pem")
    #expect(settings.maximumAttempts == nil)
    #expect(AWSSettings(environment: ["AWS_DEFAULT_REGION": "r3"], profile: profile).region == "r3")
    #expect(
      AWSSettings(environment: ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"], profile: profile).endpointURL == nil)
  }

  @Test func `no source is an error that says what was looked at`() async throws {
    let home = try home()
    let nobody = StandardCredentials(
      environment: ["HOME": home.path, "AWS_EC2_METADATA_DISABLED": "true"], exchanger: NoServices())
    do {
      _ = try await nobody.identity()
      Issue.record("an identity out of nothing")
    } catch {
      #expect("\(error)".contains("environment") && "\(error)".contains("profile default"))
    }
  }

  @Test func `a rewritten credentials file is read again, and a refused key at once`() async throws {
    let home = try home(credentials: "[default]\naws_access_key_id=K1\naws_secret_access_key=s1\n")
    let path = home.file(".aws/credentials")
    let clock = ManualClock()
    let provider = StandardCredentials(environment: ["HOME": home.path], exchanger: NoServices(), clock: clock)
    #expect(try await provider.identity()?.credentials?.accessKeyID == "K1")
    #expect(provider.name == "profile default")
    try FileSystem.write(
      Array("[default]\naws_access_key_id=K2\naws_secret_access_key=s2\n".utf8), to: path, mode: 0o600)
    #expect(try await provider.identity()?.credentials?.accessKeyID == "K1")
    clock.advance(.seconds(2))
    #expect(try await provider.identity()?.credentials?.accessKeyID == "K2")

    try FileSystem.write(
      Array("[default]\naws_access_key_id=K3\naws_secret_access_key=s3\n".utf8), to: path, mode: 0o600)
    await provider.refuse(.signed(Credentials(accessKeyID: "K2", secretAccessKey: "s2")), isCertain: true)
    #expect(try await provider.identity()?.credentials?.accessKeyID == "K3")
  }

  @Test func `an anonymous identity is only ever asked for`() async throws {
    #expect(try await AnonymousCredentials().identity() == .anonymous)
  }
}
