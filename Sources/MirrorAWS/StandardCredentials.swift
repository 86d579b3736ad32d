// The identity that every AWS tool would have here: which source counts, and the credentials it gives, kept fresh.
public import MirrorHTTP
public import MirrorPlatform
import Synchronization

/// Files are read again when they change, or when the origin refused what was in them.
public final class StandardCredentials: CredentialProvider {
  private struct State {
    var stamps: [FileStamp]?
    var looked = Instant.distantPast
    var recipe: CredentialRecipe?
    var problem: CredentialError?
    var renewed: RenewedCredentials?

    mutating func fail(_ error: CredentialError) {
      recipe = nil
      renewed = nil
      problem = error
    }
  }

  private let environment: [String: String]
  private let source: AWSProfileSource
  private let exchanger: any HTTPExchanger
  private let clock: any Clock
  private let log: Log
  private let state = Mutex(State())
  /// The files are looked at no oftener than this.
  private let interval = Duration.seconds(1)

  /// `profile` is one that the user named; `exchanger` asks the services that hand out credentials.
  public init(
    environment: [String: String], profile: String? = nil, exchanger: any HTTPExchanger,
    clock: any Clock = SystemClock(), log: Log = .none
  ) {
    self.environment = environment
    source = AWSProfileSource(environment: environment, profile: profile)
    self.exchanger = exchanger
    self.clock = clock
    self.log = log
  }

  /// The source that counts, for messages.
  public var name: String {
    _ = try? current()
    return state.withLock { $0.recipe?.name } ?? "no source"
  }

  public func identity() async throws(CredentialError) -> Identity? {
    .signed(try await current().credentials())
  }

  public func refuse(_ identity: Identity, isCertain: Bool) async {
    guard let refused = identity.credentials else { return }
    let renewed = state.withLock { state -> RenewedCredentials? in
      guard case .keys(let credentials, _)? = state.recipe else { return state.renewed }
      if credentials == refused { state.stamps = nil }
      return nil
    }
    renewed?.refuse(refused, isCertain: isCertain)
  }

  /// What gives the credentials, by the files as they are now.
  private func current() throws(CredentialError) -> RenewedCredentials {
    let now = clock.now()
    let isKnown = state.withLock { state in
      if state.stamps != nil, now - state.looked < interval { return true }
      return false
    }
    if !isKnown { look(now) }
    let (renewed, problem) = state.withLock { ($0.renewed, $0.problem) }
    if let renewed { return renewed }
    throw problem ?? CredentialError("no credentials")
  }

  private func look(_ now: Instant) {
    let stamps = [source.configPath, source.credentialsPath].map(FileStamp.init)
    let isUnchanged = state.withLock { state in
      guard state.stamps == stamps else { return false }
      state.looked = now
      return true
    }
    if isUnchanged { return }
    let files = source.files()
    warnIfOpen()
    let order = CredentialOrder(environment: environment, files: files, profile: source)
    let found: Result<CredentialRecipe?, CredentialError>
    do throws(CredentialError) { found = .success(try order.recipe()) } catch { found = .failure(error) }
    let profile = files.profile(source.name)
    state.withLock { state in
      state.stamps = stamps
      state.looked = now
      switch found {
      case .success(let recipe?):
        state.problem = nil
        // The same source as before keeps what it has.
        if recipe == state.recipe, state.renewed != nil { return }
        state.recipe = recipe
        state.renewed = renewed(recipe, profile)
      case .success(nil): state.fail(CredentialError("no credentials found (asked: \(order.asked))"))
      case .failure(let error): state.fail(error)
      }
    }
  }

  private func renewed(_ recipe: CredentialRecipe, _ profile: AWSProfile?) -> RenewedCredentials {
    let fetcher = CredentialFetcher(
      environment: environment.merging(profile?.metadataSettings ?? [:]) { own, _ in own },
      places: ServicePlaces(environment: environment, profile: profile),
      exchanger: exchanger, clock: clock, log: log)
    return RenewedCredentials(recipe.name, isStable: recipe == .metadata, clock: clock, log: log) {
      () async throws(CredentialError) in try await fetcher.fetch(recipe)
    }
  }

  private func warnIfOpen() {
    guard let path = source.credentialsPath, let real = try? FileSystem.resolve(path),
      let file = try? FileSystem.attributes(real), file.permissions & 0o077 != 0
    else { return }
    log.once(.warning, key: "open credentials \(path)", "\(path) can be read by others: its mode should be 0600")
  }
}

/// What tells one state of a file from another.
struct FileStamp: Equatable {
  private var inode: UInt64 = 0
  private var size: Int64 = -1
  private var modified: Int64 = 0

  /// Links are followed: mounted secrets change by moving one.
  init(_ path: String?) {
    guard let path, let real = try? FileSystem.resolve(path), let file = try? FileSystem.attributes(real) else {
      return
    }
    (inode, size, modified) = (file.inode, file.size, file.modifiedNanoseconds)
  }
}
