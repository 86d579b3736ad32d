// Where an identity comes from: sources asked in order, the first that has one decides.
public import MirrorPlatform

/// No identity, and why; without secrets.
public struct CredentialError: Error, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A source of an identity; safe to share.
public protocol CredentialProvider: Sendable {
  /// For messages: `environment`, `profile dev`, …
  var name: String { get }
  /// The current identity; nil where this source has none, so that the next is asked. A source that is set up but
  /// fails throws: falling through to another identity would surprise.
  func identity() async throws(CredentialError) -> Identity?
  /// The origin refused this identity: what is remembered of it is to be read anew.
  func refuse(_ identity: Identity) async
}

/// Asks its sources in order.
public struct CredentialChain: CredentialProvider {
  public let sources: [any CredentialProvider]
  public init(_ sources: [any CredentialProvider]) { self.sources = sources }

  public var name: String { sources.map(\.name).joined(separator: ", ") }

  public func identity() async throws(CredentialError) -> Identity? {
    for source in sources { if let identity = try await source.identity() { return identity } }
    throw CredentialError("no credentials found (asked: \(name))")
  }

  public func refuse(_ identity: Identity) async { for source in sources { await source.refuse(identity) } }

  /// Environment, then shared files; a profile that the caller names skips the environment.
  public static func standard(
    environment: [String: String], profile: String? = nil, clock: any Clock = SystemClock(), log: Log = .none
  ) -> CredentialChain {
    let files = ProfileCredentials(
      AWSProfileSource(environment: environment, profile: profile), clock: clock, log: log)
    return CredentialChain(profile == nil ? [EnvironmentCredentials(environment), files] : [files])
  }
}

/// The user asked for unsigned requests.
public struct AnonymousCredentials: CredentialProvider {
  public init() {}
  public var name: String { "anonymous" }
  public func identity() async throws(CredentialError) -> Identity? { .anonymous }
  public func refuse(_ identity: Identity) async {}
}

/// Keys that never change.
public struct FixedCredentials: CredentialProvider {
  private let credentials: Credentials
  public init(_ credentials: Credentials) { self.credentials = credentials }
  public var name: String { "fixed" }
  public func identity() async throws(CredentialError) -> Identity? { .signed(credentials) }
  public func refuse(_ identity: Identity) async {}
}

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
public struct EnvironmentCredentials: CredentialProvider {
  private let result: Result<Identity?, CredentialError>

  public init(_ environment: [String: String]) {
    let id = environment.nonEmpty("AWS_ACCESS_KEY_ID")
    let secret = environment.nonEmpty("AWS_SECRET_ACCESS_KEY")
    switch (id, secret) {
    case (nil, nil): result = .success(nil)
    case (let id?, let secret?):
      let token = environment.nonEmpty("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")
      result = .success(.signed(Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token)))
    case (_?, nil): result = .failure(CredentialError("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY"))
    case (nil, _?): result = .failure(CredentialError("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID"))
    }
  }

  public var name: String { "environment" }
  public func identity() async throws(CredentialError) -> Identity? { try result.get() }
  public func refuse(_ identity: Identity) async {}
}
