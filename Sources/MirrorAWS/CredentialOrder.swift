// The order in which the AWS tools look for credentials (botocore's), down to the recipe of the one source that counts.
import MirrorPlatform

/// A pure decision: environment and files in, a recipe out. A source that is set up badly is an error, and never passed
/// over for the next, which may be somebody else.
struct CredentialOrder {
  let environment: [String: String]
  let files: SharedFiles
  let profile: AWSProfileSource

  /// Nil where nothing is set up.
  func recipe() throws(CredentialError) -> CredentialRecipe? {
    if !profile.isNamedByCaller, let keys = try environmentKeys() { return keys }
    let named = files.profile(profile.name)
    if named == nil, profile.isNamed { throw unknown(profile.name) }
    if let named, named["role_arn"] != nil { return try role(named, visited: [named.name]) }
    if !profile.isNamedByCaller, let recipe = try environmentWebIdentity() { return recipe }
    if let named, let recipe = try own(named) { return recipe }
    if hasContainer { return .container }
    return environment.isTrue("AWS_EC2_METADATA_DISABLED") ? nil : .metadata
  }

  /// What was looked at, for the message that there is nothing.
  var asked: String {
    let places = [
      profile.isNamedByCaller ? nil : "environment", "profile \(profile.name)", "container",
      environment.isTrue("AWS_EC2_METADATA_DISABLED") ? nil : "instance metadata",
    ]
    return places.compactMap { $0 }.joined(separator: ", ")
  }

  private var hasContainer: Bool {
    environment.nonEmpty("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI") != nil
  }

  private func unknown(_ name: String) -> CredentialError {
    let known = files.profileNames
    return CredentialError(
      "no profile \(name) in the shared files"
        + (known.isEmpty ? ", nor any other" : "; there are: \(known.joined(separator: ", "))"))
  }

  private func environmentKeys() throws(CredentialError) -> CredentialRecipe? {
    let id = environment.nonEmpty("AWS_ACCESS_KEY_ID")
    let secret = environment.nonEmpty("AWS_SECRET_ACCESS_KEY")
    switch (id, secret) {
    case (nil, nil): return nil
    case (let id?, let secret?):
      let token = environment.nonEmpty("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")
      return .keys(Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token), origin: "environment")
    case (_?, nil): throw CredentialError("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY")
    case (nil, _?): throw CredentialError("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID")
    }
  }

  private func environmentWebIdentity() throws(CredentialError) -> CredentialRecipe? {
    guard let file = environment.nonEmpty("AWS_WEB_IDENTITY_TOKEN_FILE") else { return nil }
    guard let arn = environment.nonEmpty("AWS_ROLE_ARN") else {
      throw CredentialError("AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN")
    }
    let role = AssumedRole(arn: arn, sessionName: environment.nonEmpty("AWS_ROLE_SESSION_NAME"))
    return .webIdentity(role, tokenFile: file)
  }

  /// `visited` are the profiles on the way here, the present one last.
  private func role(_ profile: AWSProfile, visited: [String]) throws(CredentialError) -> CredentialRecipe {
    let name = profile.name
    guard profile["mfa_serial"] == nil else {
      throw CredentialError(
        "profile \(name) wants a code of \(profile["mfa_serial"] ?? "a device") (mfa_serial), which a mount can't ask for; eval \"$(aws configure export-credentials --profile \(name) --format env)\" asks for it and sets keys for a while"
      )
    }
    var role = AssumedRole(
      arn: profile["role_arn"] ?? "", sessionName: profile["role_session_name"], externalID: profile["external_id"])
    if let text = profile["duration_seconds"] {
      guard let seconds = Int(text), (900...43200).contains(seconds) else {
        throw CredentialError("profile \(name): duration_seconds is a number from 900 to 43200")
      }
      role.duration = seconds
    }
    switch (profile["web_identity_token_file"], profile["source_profile"], profile["credential_source"]) {
    case (let file?, nil, nil): return .webIdentity(role, tokenFile: file)
    case (nil, let source?, nil): return .role(role, from: try base(source, for: profile, visited))
    case (nil, nil, let source?): return .role(role, from: try credentialSource(source, of: name))
    case (nil, nil, nil):
      throw CredentialError(
        "profile \(name) has role_arn and says not by whose credentials (source_profile, credential_source or web_identity_token_file)"
      )
    default:
      throw CredentialError(
        "profile \(name) has more than one of source_profile, credential_source and web_identity_token_file")
    }
  }

  private func base(_ source: String, for profile: AWSProfile, _ visited: [String]) throws(CredentialError)
    -> CredentialRecipe
  {
    guard let other = files.profile(source) else {
      throw CredentialError(
        "profile \(profile.name) has source_profile = \(source), which is in none of the shared files")
    }
    // Keys of its own end a chain, also where a profile names itself.
    if let credentials = other.credentials { return .keys(credentials, origin: "profile \(source)") }
    guard !visited.contains(source) else {
      throw CredentialError(
        "the profiles \((visited + [source]).joined(separator: " -> ")) form a loop of source_profile")
    }
    if other["role_arn"] != nil { return try role(other, visited: visited + [source]) }
    return try own(other, orFail: profile.name)
  }

  private func own(_ profile: AWSProfile, orFail name: String) throws(CredentialError) -> CredentialRecipe {
    guard let recipe = try own(profile) else {
      throw CredentialError("profile \(profile.name), the source_profile of \(name), has no credentials")
    }
    return recipe
  }

  private func credentialSource(_ source: String, of name: String) throws(CredentialError) -> CredentialRecipe {
    switch source {
    case "Environment":
      if let keys = try environmentKeys() { return keys }
      throw CredentialError("profile \(name) takes its credentials of the environment, which has none")
    case "EcsContainer":
      if hasContainer { return .container }
      throw CredentialError(
        "profile \(name) takes its credentials of a container's agent, and this is no such container")
    case "Ec2InstanceMetadata": return .metadata
    default:
      throw CredentialError("profile \(name): credential_source is Environment, EcsContainer or Ec2InstanceMetadata")
    }
  }

  /// What a profile has without a role.
  private func own(_ profile: AWSProfile) throws(CredentialError) -> CredentialRecipe? {
    let name = profile.name
    if profile["sso_account_id"] != nil || profile["sso_role_name"] != nil { return try singleSignOn(profile) }
    let keys = profile.credentials.map { CredentialRecipe.keys($0, origin: "profile \(name)") }
    if profile.keysAreShared, let keys { return keys }
    if let session = profile["login_session"] { return .login(profile: name, session: session) }
    if let command = profile["credential_process"] { return .process(profile: name, command: command) }
    if let keys { return keys }
    if profile["aws_access_key_id"] != nil {
      throw CredentialError("profile \(name) has aws_access_key_id without aws_secret_access_key")
    }
    return nil
  }

  private func singleSignOn(_ profile: AWSProfile) throws(CredentialError) -> CredentialRecipe {
    let session = profile["sso_session"]
    let section = session.flatMap { files.config.sections["sso-session \($0)"] }
    if let session, section == nil {
      throw CredentialError("profile \(profile.name) has sso_session = \(session), and there is no such section")
    }
    func value(_ key: String) throws(CredentialError) -> String {
      guard let value = section?[key] ?? profile[key], !value.isEmpty else {
        throw CredentialError("profile \(profile.name) has no \(key); aws configure sso sets it up")
      }
      return value
    }
    return .singleSignOn(
      SingleSignOn(
        profile: profile.name, session: session, startURL: try value("sso_start_url"), region: try value("sso_region"),
        accountID: try value("sso_account_id"), roleName: try value("sso_role_name")))
  }
}

extension [String: String] {
  func isTrue(_ name: String) -> Bool { self[name]?.lowercased() == "true" }
}
