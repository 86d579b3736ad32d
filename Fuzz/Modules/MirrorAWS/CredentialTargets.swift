// The shared files of the AWS tools, and what services hand out.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

private let wall = WallTime(seconds: 1_700_000_000)

public func fuzzProfiles(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let config = ConfigFile(parsing: String(decoding: input.part(upTo: 0), as: UTF8.self))
  let credentials = ConfigFile(parsing: String(decoding: input.part(upTo: 0), as: UTF8.self))
  let words = String(decoding: input.rest(), as: UTF8.self)
  for (_, values) in config.sections {
    promise(values.values.allSatisfy { !$0.contains { $0.isNewline } }, "a value is a part of a line")
    promise(values.keys.allSatisfy { $0 == $0.lowercased() }, "keys are in lower case")
  }
  let files = SharedFiles(config: config, credentials: credentials)
  let names = files.profileNames
  promise(zip(names, names.dropFirst()).allSatisfy { $0 < $1 }, "each profile is named once")
  for name in names.prefix(4) {
    guard let profile = files.profile(name) else { return promise(false, "a profile that is named is there") }
    if profile.keysAreShared {
      promise(
        profile["aws_secret_access_key"]
          == (credentials.sections[name] ?? credentials.sections["profile \(name)"])?[
            "aws_secret_access_key"], "a key pair is never mixed of two files")
    }
    let source = AWSProfileSource(environment: [:], profile: name)
    do throws(CredentialError) {
      let recipe = try CredentialOrder(environment: [:], files: files, profile: source).recipe()
      promise(recipe.map { !$0.description.isEmpty } ?? true, "a source has a name")
      if let keys = profile.credentials, profile.keysAreShared, profile["role_arn"] == nil,
        profile["sso_account_id"] == nil, profile["sso_role_name"] == nil
      {
        guard case .keys(let used, _)? = recipe else { return promise(false, "keys of the credentials file count") }
        promise(used == keys, "and no others")
      }
    } catch { promise(!error.description.isEmpty, "a mistake is told in words") }
    _ = ServicePlaces(environment: [:], profile: profile).url(.sso, region: profile.region ?? "")
  }
  if let split = CredentialFetcher.words(words), split.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 && $0 != 0x27 } }) {
    let quoted = split.map { "'\($0)'" }.joined(separator: " ")
    promise(CredentialFetcher.words(quoted) == split, "words in quotes are the same words")
  }
  if let parsed = try? HostAddress.parse(url: words) { _ = parsed.address.hostHeader }
  _ = try? QueueAddress(parsing: words)
  _ = CustomerKey.keys(in: Array(words.utf8))
}

/// Answers one after the other, and then the last one again.
private final class Replies: HTTPExchanger, Sendable {
  private let bodies: Mutex<[[UInt8]]>
  init(_ bodies: [[UInt8]]) { self.bodies = Mutex(bodies) }
  func exchange(_ request: HTTPExchange) async throws(HTTPError) -> HTTPReply {
    let body = bodies.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
    return HTTPReply(head: HTTPHead(status: 200), body: body)
  }
}

private final class Clocks: Clock {
  func now() -> Instant { Instant(nanoseconds: 1 << 50) }
  func wall() -> WallTime { WallTime(seconds: 1_700_000_000) }
}

private let role = AssumedRole(arn: "arn:aws:iam::123456789012:role/r")
private let signOn = SingleSignOn(
  profile: "p", session: "s", startURL: "https://s", region: "us-east-1", accountID: "1", roleName: "r")
private let home = "/dev/shm/s3mirror-fuzz"
private let cache: String = {
  let directory = home + "/.aws/sso/cache"
  try? FileSystem.makeDirectories(directory)
  return directory + "/\(hexadecimal(Digest.value(.sha1, of: Array("s".utf8)))).json"
}()

/// On this thread, for nothing in it waits.
private func atOnce<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
  let promise = Promise<Value>()
  Task.immediate { promise.set(await work()) }
  return promise.wait()
}

public func fuzzCredentials(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let kind = input.byte()
  let body = input.part(upTo: 0)
  let next = input.rest()
  let fetcher = CredentialFetcher(
    environment: ["HOME": home], places: ServicePlaces(environment: [:], profile: nil),
    exchanger: Replies(kind % 8 == 5 ? [next] : [body, next]), clock: Clocks(), log: .none)
  let found: Credentials?
  switch kind % 8 {
  case 0...3:
    let json = JSON(parsing: body)
    found = json.flatMap { Credentials($0, token: kind & 1 == 0 ? "Token" : "SessionToken") }
    if let json { promiseRoundTrip(json) }
  case 4:
    found = atOnce { try? await fetcher.askMetadata() }
  case 5:
    try? FileSystem.write(body, to: cache, mode: 0o600)
    found = atOnce { try? await fetcher.signOn(signOn) }
  default:
    found = atOnce {
      try? await fetcher.assume(role, by: Credentials(accessKeyID: "i", secretAccessKey: "s"))
    }
  }
  guard let found else { return }
  promise(kind % 8 > 3 || !found.accessKeyID.isEmpty && !found.secretAccessKey.isEmpty, "keys are not empty")
  promise(
    !"\(found)".contains(found.secretAccessKey) || found.accessKeyID.contains(found.secretAccessKey)
      || "credentials ".contains(found.secretAccessKey), "a secret is not told")
  if let end = found.expiration {
    _ = end - wall
    _ = wall - end
    _ = Timestamp(seconds: end.seconds).rfc3339
  }
}
