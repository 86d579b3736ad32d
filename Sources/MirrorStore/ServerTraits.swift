// What a server was found not to do as S3 does: told by whoever meets it, asked by whoever goes round it.
public import MirrorPlatform
import Synchronization

/// One thing that a server lacks; round each there is a safe way.
public enum ServerLack: String, CaseIterable, Sendable {
  /// If-None-Match: an object that has not changed is sent again.
  case noneMatch = "if-none-match"
  /// If-Match: parts of another revision come.
  case match = "if-match"
  /// Range: every answer is the whole object.
  case range = "range"
  /// Listings are of version 1.
  case listVersion2 = "list-type"
  /// Keys in listings are not encoded.
  case encodedKeys = "encoding-type"
  /// Listings have sizes.
  case sizes = "size"
  /// Listings show the ETags that objects have.
  case listedTags = "listed-etag"
  /// ETags that look like an MD5 are one.
  case digestTags = "etag-md5"
  /// Listings are in the order of their keys.
  case order = "order"

  /// What is done about it.
  public var remedy: String {
    switch self {
    case .noneMatch: "ignores If-None-Match: a HEAD asks first whether an object has changed"
    case .match: "ignores If-Match: the ETag of every part is compared"
    case .range: "ignores Range: objects are fetched whole"
    case .listVersion2: "lists by version 1 only: listings go on after their last key"
    case .encodedKeys: "does not encode keys in listings: they are read as they are"
    case .sizes: "lists objects without size: each is asked for it"
    case .listedTags:
      "lists other ETags than objects have: listings prove that an object is there, not that it is unchanged"
    case .order: "lists in no order: a listing tells what is not there only once it has ended"
    case .digestTags: "has ETags that look like MD5s and are none: they prove nothing of the bytes"
    }
  }
}

/// The lacks of one server, with the time each was last met. Safe to share.
public final class ServerTraits: Sendable {
  /// Servers are mended: what was not met again for so long must be met anew.
  public static let memory = Duration.seconds(3 * 86400)

  /// Nil: it was met once, and is contradicted now.
  public typealias Watch = @Sendable (ServerLack, WallTime?) -> Void

  private struct State {
    var met: [ServerLack: WallTime] = [:]
    var watch: Watch?
  }
  private let state = Mutex(State())
  private let clock: any Clock
  /// What the kind of bucket tells.
  private let given: Set<ServerLack>

  public init(clock: any Clock = SystemClock(), given: Set<ServerLack> = []) {
    self.clock = clock
    self.given = given
  }

  public func lacks(_ lack: ServerLack) -> Bool {
    if given.contains(lack) { return true }
    return state.withLock { state in
      guard let met = state.met[lack] else { return false }
      return Self.holds(met, clock.wall())
    }
  }

  /// In the order they are declared in.
  public var all: [ServerLack] { ServerLack.allCases.filter(lacks) }

  /// The server was met without it; what is known already is kept for longer, an hour at least being over.
  public func note(_ lack: ServerLack) {
    if given.contains(lack) { return }
    let now = clock.wall()
    let watch = state.withLock { state -> Watch? in
      if let met = state.met[lack], Self.holds(met, now), now - met < .seconds(3600) { return nil }
      state.met[lack] = now
      return state.watch
    }
    watch?(lack, now)
  }

  /// The server does have it.
  public func contradict(_ lack: ServerLack) {
    let watch = state.withLock { state -> Watch? in
      state.met.removeValue(forKey: lack) == nil ? nil : state.watch
    }
    watch?(lack, nil)
  }

  /// Brings in what is remembered from earlier, and tells from now on what is to be remembered.
  public func remember(_ known: [ServerLack: WallTime], watch: @escaping Watch) {
    state.withLock { state in
      state.met.merge(known) { now, _ in now }
      state.watch = watch
    }
  }

  /// A stamp from the future is that of a clock that was wrong.
  private static func holds(_ met: WallTime, _ now: WallTime) -> Bool { met <= now && now - met < memory }
}
