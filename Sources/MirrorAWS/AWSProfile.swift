// One profile out of the shared files and the environment: which files, which name, which values.
import MirrorPlatform

/// Where the shared files lie and which profile counts (environment in, no file read).
public struct AWSProfileSource: Hashable, Sendable {
  public let configPath: String?
  public let credentialsPath: String?
  public let name: String
  /// The name was given, not assumed: then it must exist.
  public let isNamed: Bool
  /// A caller gave it: then it goes before keys of the environment.
  let isNamedByCaller: Bool

  /// `profile` is the name a caller gave; else AWS_PROFILE, AWS_DEFAULT_PROFILE, `default`.
  public init(environment: [String: String], profile: String? = nil) {
    func expanded(_ path: String) -> String? {
      guard path.hasPrefix("~/") else { return path }
      return environment.nonEmpty("HOME").map { $0 + path.dropFirst() }
    }
    configPath = expanded(environment.nonEmpty("AWS_CONFIG_FILE") ?? "~/.aws/config")
    credentialsPath = expanded(environment.nonEmpty("AWS_SHARED_CREDENTIALS_FILE") ?? "~/.aws/credentials")
    let given = profile ?? environment.nonEmpty("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
    name = given ?? "default"
    isNamed = given != nil
    isNamedByCaller = profile != nil
  }

  /// Both files as they are now.
  func files() -> SharedFiles {
    SharedFiles(config: Self.file(configPath), credentials: Self.file(credentialsPath))
  }

  /// Reads both files; nil for the profile when neither has it.
  public func read() -> AWSProfile? { files().profile(name) }

  private static func file(_ path: String?) -> ConfigFile {
    guard let path, let bytes = try? FileSystem.read(path) else { return ConfigFile() }
    return ConfigFile(parsing: String(decoding: bytes, as: UTF8.self))
  }
}

/// The shared config and credentials files, parsed.
struct SharedFiles: Sendable {
  let config: ConfigFile
  let credentials: ConfigFile

  /// The values of both; nil when neither has it.
  func profile(_ name: String) -> AWSProfile? {
    let sections = config.sections
    // `[default]` needs no word before it; others do, though tools have written them without.
    let fromConfig = sections["profile \(name)"] ?? sections[name]
    let fromCredentials = credentials.sections[name] ?? credentials.sections["profile \(name)"]
    guard fromConfig != nil || fromCredentials != nil else { return nil }
    // A key pair is never mixed of two files: the credentials file's wins as a whole.
    var values = fromConfig ?? [:]
    let isShared = fromCredentials?["aws_access_key_id"] != nil
    if isShared {
      for key in AWSProfile.keyNames { values[key] = nil }
    }
    values.merge(fromCredentials ?? [:]) { $1 }
    let services = values["services"].flatMap { sections["services \($0)"] } ?? [:]
    return AWSProfile(name: name, values: values, services: services, keysAreShared: isShared)
  }

  var profileNames: [String] {
    let configured = config.sections.keys.compactMap { name -> String? in
      if name == "default" { return name }
      return name.hasPrefix("profile ") ? String(name.dropFirst(8)) : nil
    }
    return Set(configured + credentials.sections.keys).sorted()
  }
}

/// The values of a profile.
public struct AWSProfile: Hashable, Sendable, CustomStringConvertible {
  static let keyNames = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"]

  public let name: String
  private let values: [String: String]
  private let services: [String: String]
  /// Its keys are those of the credentials file.
  let keysAreShared: Bool

  public init(
    name: String, values: [String: String], services: [String: String] = [:], keysAreShared: Bool = false
  ) {
    self.keysAreShared = keysAreShared
    self.name = name
    self.values = values
    self.services = services
  }

  public subscript(key: String) -> String? { values[key] }

  public var region: String? { values["region"] }
  /// The `services` section's for S3, else the profile's own.
  public var endpointURL: String? { endpointURL(of: "s3") }
  /// That of a service: `s3`, `sts`, `sso`, `sso_oidc`.
  func endpointURL(of service: String) -> String? { services["\(service).endpoint_url"] ?? values["endpoint_url"] }
  public var credentials: Credentials? {
    guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else { return nil }
    return Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: values["aws_session_token"])
  }

  public var description: String { "profile \(name)" }
}

extension AWSProfile: CustomReflectable {
  public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
