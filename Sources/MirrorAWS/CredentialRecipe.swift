// How credentials come about: the decision of environment and shared files, before anything is asked.
import MirrorPlatform

/// The source that counts, as a value; equal recipes give the same identity.
indirect enum CredentialRecipe: Hashable, Sendable {
  /// Keys as they are written somewhere; `origin` says where.
  case keys(Credentials, origin: String)
  /// AssumeRole by the identity of another recipe.
  case role(AssumedRole, from: CredentialRecipe)
  /// AssumeRoleWithWebIdentity by the token in a file.
  case webIdentity(AssumedRole, tokenFile: String)
  case singleSignOn(SingleSignOn)
  /// What `aws login` left in its cache.
  case login(profile: String, session: String)
  case process(profile: String, command: String)
  /// The agent of a container (ECS, EKS Pod Identity).
  case container
  /// An instance's role (IMDS).
  case metadata

  /// For messages.
  var name: String {
    switch self {
    case .keys(_, let origin): origin
    case .role(let role, let base): "role \(role.arn) by \(base.name)"
    case .webIdentity(let role, _): "role \(role.arn) by web identity"
    case .singleSignOn(let source): "single sign-on of profile \(source.profile)"
    case .login(let profile, _): "login of profile \(profile)"
    case .process(let profile, _): "credential_process of profile \(profile)"
    case .container: "container credentials"
    case .metadata: "instance metadata"
    }
  }
}

/// What AssumeRole is asked for.
struct AssumedRole: Hashable, Sendable {
  var arn: String
  var sessionName: String?
  var externalID: String?
  /// Seconds.
  var duration: Int?
}

/// A role that an SSO session may take.
struct SingleSignOn: Hashable, Sendable {
  var profile: String
  /// Nil in the old form, without a session section.
  var session: String?
  var startURL: String
  var region: String
  var accountID: String
  var roleName: String
}

extension CredentialRecipe: CustomStringConvertible, CustomReflectable {
  var description: String { name }
  var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
