// Where an identity comes from, as the store sees it.

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
  /// The origin refused this identity, or may have (not `isCertain`): what is remembered of it is to be read anew.
  func refuse(_ identity: Identity, isCertain: Bool) async
}

/// The user asked for unsigned requests.
public struct AnonymousCredentials: CredentialProvider {
  public init() {}
  public var name: String { "anonymous" }
  public func identity() async throws(CredentialError) -> Identity? { .anonymous }
  public func refuse(_ identity: Identity, isCertain: Bool) async {}
}

/// Keys that never change.
public struct FixedCredentials: CredentialProvider {
  private let credentials: Credentials
  public init(_ credentials: Credentials) { self.credentials = credentials }
  public var name: String { "fixed" }
  public func identity() async throws(CredentialError) -> Identity? { .signed(credentials) }
  public func refuse(_ identity: Identity, isCertain: Bool) async {}
}
