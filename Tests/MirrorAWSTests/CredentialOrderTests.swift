// Which source of credentials counts, out of environment and files alone.
import MirrorPlatform
import Testing

@testable import MirrorAWS

@Suite("Order of credentials", .timeLimit(.minutes(1)))
struct CredentialOrderTests {
  private func order(
    _ environment: [String: String] = [:], config: String = "", credentials: String = "", profile: String? = nil
  ) -> CredentialOrder {
    CredentialOrder(
      environment: environment,
      files: SharedFiles(config: ConfigFile(parsing: config), credentials: ConfigFile(parsing: credentials)),
      profile: AWSProfileSource(environment: environment, profile: profile))
  }

  private func problem(_ order: CredentialOrder) -> String {
    do {
      return "no problem: \(String(describing: try order.recipe()))"
    } catch { return "\(error)" }
  }

  private let keys = ["AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e"]

  private let everything = """
    [default]
    role_arn = arn:aws:iam::1:role/r
    source_profile = base
    sso_session = corp
    sso_account_id = 1
    sso_role_name = R
    login_session = arn:login
    credential_process = /bin/p
    aws_access_key_id = C
    aws_secret_access_key = c
    [profile base]
    aws_access_key_id = B
    aws_secret_access_key = b
    [sso-session corp]
    sso_start_url = https://corp
    sso_region = eu-west-1
    """

  /// Each step takes away what won before.
  @Test func `every source is asked in botocore's order`() throws {
    var environment =
      keys.merging([
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn:w",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c",
      ]) { $1 }
    var config = everything
    var credentials = "[default]\naws_access_key_id=S\naws_secret_access_key=s\n"
    func name() throws -> String? { try order(environment, config: config, credentials: credentials).recipe()?.name }
    func drop(_ prefix: String) {
      config = config.split(separator: "\n").filter { !$0.hasPrefix(prefix) }.joined(separator: "\n")
    }
    #expect(try name() == "environment")
    for key in keys.keys { environment[key] = nil }
    #expect(try name() == "role arn:aws:iam::1:role/r by profile base")
    drop("role_arn")
    #expect(try name() == "role arn:w by web identity")
    environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = nil
    #expect(try name() == "single sign-on of profile default")
    drop("sso_account_id")
    drop("sso_role_name")
    #expect(
      try order(environment, config: config, credentials: credentials).recipe()
        == .keys(Credentials(accessKeyID: "S", secretAccessKey: "s"), origin: "profile default"))
    credentials = ""
    #expect(try name() == "login of profile default")
    drop("login_session")
    #expect(try name() == "credential_process of profile default")
    drop("credential_process")
    #expect(
      try order(environment, config: config).recipe()
        == .keys(Credentials(accessKeyID: "C", secretAccessKey: "c"), origin: "profile default"))
    config = ""
    #expect(try name() == "container credentials")
    environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = nil
    #expect(try name() == "instance metadata")
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    #expect(try name() == nil)
  }

  @Test func `a profile that the user names goes before the environment`() throws {
    let environment = keys.merging(["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "arn:w"]) { $1 }
    let recipe = try order(environment, config: everything, profile: "base").recipe()
    #expect(recipe == .keys(Credentials(accessKeyID: "B", secretAccessKey: "b"), origin: "profile base"))
    let byEnvironment = environment.merging(["AWS_PROFILE": "base"]) { $1 }
    #expect(try order(byEnvironment, config: everything).recipe()?.name == "environment")
  }

  @Test func `roles chain, and end at a profile with keys`() throws {
    let config = """
      [profile a]
      role_arn = arn:a
      source_profile = b
      external_id = x y
      role_session_name = me
      duration_seconds = 900
      [profile b]
      role_arn = arn:b
      source_profile = c
      [profile c]
      aws_access_key_id = C
      aws_secret_access_key = c
      """
    let keys = CredentialRecipe.keys(Credentials(accessKeyID: "C", secretAccessKey: "c"), origin: "profile c")
    #expect(
      try order(config: config, profile: "a").recipe()
        == .role(
          AssumedRole(arn: "arn:a", sessionName: "me", externalID: "x y", duration: 900),
          from: .role(AssumedRole(arn: "arn:b"), from: keys)))
  }

  @Test func `a profile may be its own source where it has keys`() throws {
    let config = "[profile a]\nrole_arn = arn:a\nsource_profile = a\naws_access_key_id = K\naws_secret_access_key = k\n"
    #expect(try order(config: config, profile: "a").recipe()?.name == "role arn:a by profile a")
  }

  @Test func `a loop of roles is told with all its profiles`() {
    let config = "[profile a]\nrole_arn=1\nsource_profile=b\n[profile b]\nrole_arn=2\nsource_profile=a\n"
    #expect(problem(order(config: config, profile: "a")).contains("a -> b -> a"))
    #expect(problem(order(config: "[profile a]\nrole_arn=1\nsource_profile=a\n", profile: "a")).contains("a -> a"))
  }

  @Test(arguments: [
    ("source_profile = none", "source_profile = none"), ("", "says not by whose"),
    ("source_profile = k\ncredential_source = Environment", "more than one"),
    ("credential_source = Environment", "environment, which has none"),
    ("credential_source = EcsContainer", "no such container"),
    ("credential_source = Moon", "credential_source is"), ("source_profile = k\nmfa_serial = arn:mfa/me", "arn:mfa/me"),
    ("source_profile = k\nduration_seconds = 60", "900 to 43200"), ("source_profile = empty", "has no credentials"),
  ])
  func `a role that is set up badly is an error that says how`(lines: String, word: String) {
    let config = """
      [profile a]
      role_arn = arn:a
      \(lines)
      [profile k]
      aws_access_key_id = K
      aws_secret_access_key = k
      [profile empty]
      region = x
      """
    #expect(problem(order(config: config, profile: "a")).contains(word))
  }

  @Test func `nothing that is set up badly is passed over for the next source`() {
    let half = ["AWS_ACCESS_KEY_ID": "E"]
    #expect(problem(order(half, config: everything)).contains("AWS_SECRET_ACCESS_KEY"))
    #expect(problem(order(["AWS_WEB_IDENTITY_TOKEN_FILE": "/t"])).contains("AWS_ROLE_ARN"))
    #expect(problem(order(config: "[default]\naws_access_key_id = K\n")).contains("aws_secret_access_key"))
    #expect(problem(order(config: "[default]\nsso_account_id = 1\nsso_session = corp\n")).contains("corp"))
    #expect(
      problem(order(config: "[default]\nsso_account_id = 1\nsso_start_url = u\nsso_region = r\n"))
        .contains("sso_role_name"))
    let unknown = problem(order(config: everything, profile: "bass"))
    #expect(unknown.contains("bass") && unknown.contains("base, default"))
  }

  @Test func `a session section or the profile itself describes a single sign-on`() throws {
    let new =
      "[profile a]\nsso_session=s\nsso_account_id=1\nsso_role_name=R\n[sso-session s]\nsso_start_url=u\nsso_region=r\n"
    let old = "[profile a]\nsso_start_url=u\nsso_region=r\nsso_account_id=1\nsso_role_name=R\n"
    for (config, session) in [(new, "s"), (old, nil as String?)] {
      #expect(
        try order(config: config, profile: "a").recipe()
          == .singleSignOn(
            SingleSignOn(
              profile: "a", session: session, startURL: "u", region: "r", accountID: "1", roleName: "R")))
    }
  }

  @Test func `services are asked where the settings say, each by its own`() {
    func places(_ environment: [String: String], _ values: [String: String] = [:]) -> ServicePlaces {
      ServicePlaces(environment: environment, profile: AWSProfile(name: "p", values: values))
    }
    let plain = places(["AWS_REGION": "eu-west-1"])
    #expect(plain.url(.sts, region: plain.region) == "https://sts.eu-west-1.amazonaws.com")
    #expect(plain.url(.sso, region: "cn-north-1") == "https://portal.sso.cn-north-1.amazonaws.com.cn")
    #expect(plain.url(.tokens, region: "us-east-2") == "https://oidc.us-east-2.amazonaws.com")
    let fips = places(["AWS_USE_FIPS_ENDPOINT": "true"])
    #expect(fips.url(.sts, region: "us-east-1") == "https://sts-fips.us-east-1.amazonaws.com")
    #expect(fips.url(.sts, region: "us-gov-west-1") == "https://sts.us-gov-west-1.amazonaws.com")
    let own = places(["AWS_ENDPOINT_URL_STS": "http://s/", "AWS_ENDPOINT_URL": "http://all"])
    #expect(own.url(.sts, region: "r") == "http://s" && own.url(.sso, region: "r") == "http://all")
    let ignored = places(["AWS_ENDPOINT_URL": "http://all", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"])
    #expect(ignored.url(.sso, region: "us-east-1") == "https://portal.sso.us-east-1.amazonaws.com")
    // That of the bucket is none of them.
    #expect(places(["AWS_ENDPOINT_URL_S3": "http://s3"]).url(.sts, region: "us-east-1").hasPrefix("https://sts."))
  }

  @Test func `a recipe shows no secret`() throws {
    let recipe = CredentialRecipe.role(
      AssumedRole(arn: "arn:a"), from: .keys(Credentials(accessKeyID: "A", secretAccessKey: "hush"), origin: "here"))
    var dumped = ""
    dump(recipe, to: &dumped)
    #expect(!"\(recipe) \(String(reflecting: recipe)) \(dumped)".contains("hush"))
  }

  @Test func `a command is split as a shell does`() {
    #expect(
      ProcessWords.of(#"/bin/x --a "b c" 'd "e' f\ g "h\"i\n" '' k"#)
        == ["/bin/x", "--a", "b c", #"d "e"#, "f g", #"h"i\n"#, "", "k"])
    #expect(ProcessWords.of("a 'b") == nil && ProcessWords.of("a \\") == nil)
    #expect(ProcessWords.of("  ") == [])
  }
}

private enum ProcessWords {
  static func of(_ text: String) -> [String]? { CredentialFetcher.words(text) }
}
