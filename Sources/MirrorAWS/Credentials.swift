// Who asks: keys, or nobody. Secrets never show in a description.
public import MirrorPlatform

/// An access key with its secret, perhaps temporary.
public struct Credentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  public let accessKeyID: String
  public let secretAccessKey: String
  public let sessionToken: String?
  /// When temporary keys end, where it is known.
  public let expiration: WallTime?
  /// Those of a session with one bucket (CreateSession): its token goes into a header of its own.
  let isSession: Bool

  public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiration: WallTime? = nil) {
    self.init(
      accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken, expiration: expiration,
      isSession: false)
  }

  init(
    accessKeyID: String, secretAccessKey: String, sessionToken: String?, expiration: WallTime?, isSession: Bool
  ) {
    self.isSession = isSession
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiration = expiration
  }

  public var description: String { "credentials \(accessKeyID)" }
  public var debugDescription: String { description }
}

extension Credentials: CustomReflectable {
  public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }
}

/// What a request is sent as.
public enum Identity: Hashable, Sendable {
  /// Unsigned; only ever by the user's wish.
  case anonymous
  case signed(Credentials)

  public var credentials: Credentials? {
    if case .signed(let credentials) = self { return credentials }
    return nil
  }
}
