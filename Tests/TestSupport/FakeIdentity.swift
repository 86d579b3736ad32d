// The services that hand out credentials, on loopback in their real wire formats: STS, SSO, OIDC, the agent of a
// container, instance metadata.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Every answer with credentials makes new ones, which end after `life`.
public final class FakeIdentity: Sendable {
  public struct Settings: Sendable {
    /// Seconds.
    public var life: Int64 = 3600
    /// False: instance metadata knows no tokens (IMDSv1 only).
    public var knowsTokens = true
    /// The instance's role; nil: none.
    public var role: String? = "worker"
    /// What the agent of a container wants to see in Authorization.
    public var containerToken: String?
    /// What SSO takes for a session, and OIDC renews.
    public var sessionToken = "session-1"
    public var refreshToken = "refresh-1"
    /// Seconds that a renewed session is said to last.
    public var sessionLife: Int64 = 28800
    /// Answers this status to everything.
    public var fails: Int?
    /// Seconds by which the clock there is ahead.
    public var clockAhead: Int64 = 0
    public init() {}
  }

  public struct Request: Sendable {
    public let method: String
    /// Without the query.
    public let path: String
    public let query: Query
    public let fields: Fields
    public let body: [UInt8]
    /// A form's fields.
    public var form: Query { Query(body) }
  }

  struct Issued: Sendable {
    let secret: String
    let token: String
    let ends: Int64
  }
  struct State {
    var settings = Settings()
    var requests: [Request] = []
    var issued: [String: Issued] = [:]
    var mode = ServerMode.ok
  }

  private let state: Holder
  private let listener: Listener

  /// Shared with the threads of connections.
  final class Holder: Sendable { let state = Mutex(State()) }

  public init() throws {
    let holder = Holder()
    state = holder
    listener = try Listener { connection in
      while let head = connection.readHead().flatMap(MessageHead.init) {
        var body: [UInt8] = []
        if head.length ?? 0 > 0 {
          guard
            connection.readBody(
              of: head,
              {
                body += $0; return true
              })
          else { return }
        }
        guard connection.wait(until: { holder.state.withLock { $0.mode } != .blackhole }) else { return }
        let target = head.target
        let mark = target.firstIndex(of: 0x3F) ?? target.endIndex
        let request = Request(
          method: head.method, path: String(decoding: target[..<mark], as: UTF8.self),
          query: Query(target[mark...].dropFirst()), fields: head.fields, body: body)
        let answer = holder.state.withLock { state in
          state.requests.append(request)
          return IdentityAnswering(request: request).answer(&state)
        }
        var fields = answer.fields
        fields["Content-Length"] = "\(answer.body.count)"
        fields["Date"] = Timestamp(seconds: holder.state.withLock { $0.now }).httpDate
        let text = "HTTP/1.1 \(answer.status) X\r\n\(fields.text)\r\n"
        guard connection.write(Array(text.utf8) + answer.body), !head.closes else { return }
      }
    }
  }
  deinit { stop() }

  public func stop() { listener.stop() }
  public var endpoint: String { "http://127.0.0.1:\(listener.port)" }
  public func setMode(_ mode: ServerMode) {
    state.state.withLock { $0.mode = mode }
    listener.set(mode)
  }

  public var requests: [Request] { state.state.withLock { $0.requests } }
  public func configure(_ change: (inout Settings) -> Void) { state.state.withLock { change(&$0.settings) } }

  /// Keys that count from the start, without an end.
  public func enroll(_ id: String, secret: String) {
    state.state.withLock { $0.issued[id] = Issued(secret: secret, token: "", ends: .max) }
  }
  /// Ends the life of all that were handed out.
  public func revokeAll() { state.state.withLock { $0.issued = [:] } }

  /// Whether a bucket should let these keys in now.
  public func isValid(_ id: String) -> Bool {
    state.state.withLock { state in state.issued[id].map { $0.ends > state.now } ?? false }
  }
  /// How many credentials were handed out.
  public var handedOut: Int { state.state.withLock { state in state.issued.values.count { $0.ends != .max } } }
}

extension FakeIdentity.State {
  var now: Int64 { SystemClock().wall().seconds + settings.clockAhead }

  mutating func issue(_ kind: String) -> (id: String, FakeIdentity.Issued) {
    let id = "\(kind)\(issued.count + 1)"
    let new = FakeIdentity.Issued(secret: "secret-\(id)", token: "token/+=\(id)", ends: now + settings.life)
    issued[id] = new
    return (id, new)
  }
}
