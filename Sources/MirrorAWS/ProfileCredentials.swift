// Static keys of the shared files, read again when a file changed or the origin refused them.
public import MirrorPlatform
import Synchronization

public final class ProfileCredentials: CredentialProvider {
  /// What tells one state of a file from another.
  private struct Stamp: Equatable {
    var inode: UInt64 = 0
    var size: Int64 = -1
    var modified: Int64 = 0
  }
  private struct State {
    var stamps: [Stamp]?
    var profile: AWSProfile?
    var looked = Instant.distantPast
  }

  private let source: AWSProfileSource
  private let clock: any Clock
  private let log: Log
  private let state = Mutex(State())
  /// The files are looked at no oftener than this.
  private let interval = Duration.seconds(1)

  public init(_ source: AWSProfileSource, clock: any Clock = SystemClock(), log: Log = .none) {
    self.source = source
    self.clock = clock
    self.log = log
  }

  public var name: String { "profile \(source.name)" }

  public func identity() async throws(CredentialError) -> Identity? {
    guard let profile = current() else {
      if source.isNamed { throw CredentialError("no profile \(source.name) in the shared files") }
      return nil
    }
    if let credentials = profile.credentials { return .signed(credentials) }
    if profile["aws_access_key_id"] != nil {
      throw CredentialError("profile \(source.name) has aws_access_key_id without aws_secret_access_key")
    }
    return nil
  }

  public func refuse(_ identity: Identity) async {
    let known = state.withLock { $0.profile?.credentials }
    guard known != nil, known == identity.credentials else { return }
    state.withLock { $0 = State() }
  }

  private func current() -> AWSProfile? {
    let now = clock.now()
    let known = state.withLock { state -> AWSProfile?? in
      state.stamps != nil && now - state.looked < interval ? .some(state.profile) : nil
    }
    if let known { return known }
    let stamps = [source.configPath, source.credentialsPath].map(Self.stamp)
    let unchanged = state.withLock { state -> AWSProfile?? in
      guard state.stamps == stamps else { return nil }
      state.looked = now
      return .some(state.profile)
    }
    if let unchanged { return unchanged }
    let profile = source.read()
    warnIfOpen()
    state.withLock { $0 = State(stamps: stamps, profile: profile, looked: now) }
    return profile
  }

  /// Links are followed: mounted secrets change by moving one.
  private static func stamp(_ path: String?) -> Stamp {
    guard let path, let real = try? FileSystem.resolve(path), let file = try? FileSystem.attributes(real) else {
      return Stamp()
    }
    return Stamp(inode: file.inode, size: file.size, modified: file.modified)
  }

  private func warnIfOpen() {
    guard let path = source.credentialsPath, let real = try? FileSystem.resolve(path),
      let file = try? FileSystem.attributes(real), file.permissions & 0o077 != 0
    else { return }
    log.once(.warning, key: "open credentials \(path)", "\(path) can be read by others: its mode should be 0600")
  }
}
