// Sessions with a directory bucket: credentials of its own for five minutes, renewed ahead of their end.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

/// Gives the session at hand, and makes one where there is none; one request for a new one at a time. Safe to share.
final class BucketSessions: Sendable {
  /// Why the last request for a session failed, in the words of who asked.
  private let failure: Failure
  private let renewed: RenewedCredentials
  private final class Failure: Sendable { let last = Mutex<StoreError?>(nil) }

  /// `create` is CreateSession (S3 API Reference).
  init(
    clock: any Clock, log: Log, create: @escaping @Sendable () async throws(StoreError) -> Credentials
  ) {
    let failure = Failure()
    self.failure = failure
    renewed = RenewedCredentials("the bucket's session", clock: clock, log: log) {
      () async throws(CredentialError) in
      do throws(StoreError) { return try await create() } catch {
        failure.last.withLock { $0 = error }
        throw CredentialError(error.description)
      }
    }
  }

  func identity(_ question: Question) async throws(StoreError) -> Identity {
    do throws(CredentialError) { return .signed(try await renewed.credentials()) } catch {
      throw failure.last.withLock { $0 } ?? question.fault(.credentials, error.description)
    }
  }

  func refuse(_ identity: Identity) {
    if let credentials = identity.credentials { renewed.refuse(credentials) }
  }
}

extension S3Store {
  /// Long enough for a new connection; what waits for the session has deadlines of its own.
  private static let sessionDeadline = Duration.seconds(10)

  /// A new session that may read.
  func createSession() async throws(StoreError) -> Credentials {
    let allowance = try await Allowance.current?.another(.other, operation: "CreateSession")
    defer { allowance?.end() }
    let result = await Allowance.$current.withValue(allowance) { () async -> Result<Credentials, StoreError> in
      do throws(StoreError) { return .success(try await askSession()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func askSession() async throws(StoreError) -> Credentials {
    var question = question("CreateSession", .other, key: nil, deadline: clock.now() + Self.sessionDeadline)
    question.query = [("session", [])]
    question.headers.append(HTTPField("x-amz-create-session-mode", "ReadOnly"))
    question.bySession = false
    let reader = SessionReader()
    let head = try await ask(question, reader: reader)
    guard let credentials = reader.credentials else { throw question.malformed("the answer is no session", head) }
    return credentials
  }
}

/// `<CreateSessionResult><Credentials>…`
///
/// `@unchecked Sendable`: the transfer thread writes while the request runs, its caller reads after it ended.
private final class SessionReader: AnswerReader, XMLConsumer, @unchecked Sendable {
  private var reader: XMLReader?
  private var fields: [String: String] = [:]

  init() { reader = XMLReader(self) }

  func begin(_ head: HTTPHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { reader?.feed(bytes) ?? false }
  func opened(_ name: String, depth: Int) {}
  func closed(_ name: String, depth: Int, text: [UInt8]) {
    if depth == 3 { fields[name] = String(decoding: text, as: UTF8.self) }
  }

  var credentials: Credentials? {
    guard reader?.finish() == true, let id = fields["AccessKeyId"], let secret = fields["SecretAccessKey"],
      let token = fields["SessionToken"], !id.isEmpty, !secret.isEmpty, !token.isEmpty,
      let end = fields["Expiration"].flatMap({ Timestamp(rfc3339: $0) })
    else { return nil }
    return Credentials(
      accessKeyID: id, secretAccessKey: secret, sessionToken: token, expiration: WallTime(seconds: end.seconds),
      isSession: true)
  }
}
