// `doctor`: walks the way from the settings to the bytes of an object, and tells at each step what is in the way.
import MirrorAWS
import MirrorFUSE
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

/// One step and how it went.
public struct Finding: Sendable {
  public enum Verdict: Equatable, Sendable {
    case good
    /// Nothing that keeps a mount from working.
    case odd
    case bad(ExitCode)
  }
  public let verdict: Verdict
  public let step: String
  public let text: String
  /// What to do about it; empty where nothing needs to be done.
  public let cure: String

  init(_ verdict: Verdict, _ step: String, _ text: String, cure: String = "") {
    (self.verdict, self.step, self.text, self.cure) = (verdict, step, text, cure)
  }

  /// A line for people.
  public var line: String {
    let mark =
      switch verdict {
      case .good: "ok    "
      case .odd: "note  "
      case .bad: "FAIL  "
      }
    return mark + step + ": " + text + (cure.isEmpty ? "" : "; " + cure)
  }
}

/// The examination of one source, or of this machine alone.
public final class Doctor: Sendable {
  private let settings: MountSettings
  private let hasSource: Bool
  private let clock = SystemClock()
  private let tell: @Sendable (Finding) -> Void
  private let worst = Mutex(ExitCode.done)

  /// Without a source nothing is asked of any bucket. Findings come in order, one at a time.
  public init(_ settings: MountSettings, hasSource: Bool, tell: @escaping @Sendable (Finding) -> Void) {
    self.settings = settings
    self.hasSource = hasSource
    self.tell = tell
  }

  /// The code of the first thing that keeps a mount from working. Blocks; not for the cooperative pool.
  public func examine() -> ExitCode {
    let origin = OriginSettings(settings)
    note(.good, "settings", origin.summary)
    if let transport = try? HTTPTransport(origin.transport) {
      waitFor { await self.examine(origin, transport) }
      transport.close()
    }
    examineFUSE()
    examineCache()
    return worst.withLock { $0 }
  }

  func note(_ verdict: Finding.Verdict, _ step: String, _ text: String, cure: String = "") {
    if case .bad(let code) = verdict { worst.withLock { if $0 == .done { $0 = code } } }
    tell(Finding(verdict, step, text, cure: cure))
  }

  func fail(_ step: String, _ error: StoreError) {
    let (code, cure) = CommandFailure.verdict(on: error)
    note(.bad(code), step, error.description, cure: cure)
  }

  // MARK: The way to the bucket

  private func examine(_ origin: OriginSettings, _ transport: HTTPTransport) async {
    let s3 = origin.s3(transport, clock: clock, log: .none)
    guard await examineCredentials(s3) else { return }
    guard hasSource else { return }
    let store: S3Store
    let ledger = Ledger()
    do throws(EndpointError) {
      store = try S3Store(configuration: s3, transport: transport, ledger: ledger, clock: clock)
    } catch { return note(.bad(.usage), "endpoint", error.description) }
    guard await examineConnection(store.endpointURL, transport) else { return }
    guard await examineBucket(store) else { return }
    if let object = await examineListing(store) { await examineObject(store, object, ledger) }
    examineServer(store)
  }

  private func examineCredentials(_ s3: S3Configuration) async -> Bool {
    let name = s3.credentials.name
    do throws(CredentialError) {
      guard let identity = try await s3.credentials.identity() else { throw CredentialError("no credentials found") }
      guard let credentials = identity.credentials else {
        note(.good, "credentials", "none, as asked for")
        return true
      }
      let end = credentials.expiration.map { ", until \(Timestamp(seconds: $0.seconds).rfc3339)" } ?? ""
      note(.good, "credentials", "\(credentials.accessKeyID) by \(name)\(end)")
      return true
    } catch {
      note(
        .bad(.denied), "credentials", error.description,
        cure: "set them up, name a --profile, or use --no-sign-request for a public bucket")
      return false
    }
  }

  /// Name, connection, TLS and clock: any answer will do.
  private func examineConnection(_ url: String, _ transport: HTTPTransport) async -> Bool {
    let answer = HeadOnly()
    let begun = clock.now()
    do throws(HTTPError) {
      _ = try await transport.perform(HTTPRequest(.head, url: url, timeout: .seconds(8)), handler: answer)
    } catch {
      let (code, cure) = CommandFailure.verdict(
        on: StoreError(error.kind == .tls ? .tls : .unreachable, operation: "", subject: "", message: ""))
      note(.bad(code), "connection", "\(url): \(error.message)", cure: cure)
      return false
    }
    let time = formatDuration(clock.now() - begun)
    note(
      .good, "connection",
      "\(url) answers after \(time)\(url.hasPrefix("https:") ? ", its certificate is trusted" : ", without TLS")")
    if let date = answer.date {
      let gap = WallTime(seconds: date.seconds) - clock.wall()
      let off = gap < .zero ? .zero - gap : gap
      if off > .seconds(60) {
        note(.odd, "clock", "this machine's is off by \(formatDuration(off)), which is made up for", cure: "set it")
      } else {
        note(.good, "clock", "as the server's")
      }
    }
    return true
  }

  var deadline: Instant { clock.now() + .seconds(8) }

  private func examineBucket(_ store: S3Store) async -> Bool {
    do throws(StoreError) { try await store.probe(deadline: deadline) } catch {
      // The bucket itself may be denied where a part of it is not.
      guard error.code == .accessDenied else {
        fail("bucket", error)
        return false
      }
      note(.odd, "bucket", "it may not be asked for as a whole (HTTP \(error.status))")
      return true
    }
    note(.good, "bucket", "\(store.bucket) is there, in region \(store.region)")
    return true
  }

  /// An object to try, with content if there is one.
  private func examineListing(_ store: S3Store) async -> ListedObject? {
    do throws(StoreError) {
      let request = ListRequest(prefix: settings.source.prefix, delimited: false, deadline: deadline)
      let page = try await store.list(request)
      let many = page.next == nil ? "" : "more than "
      note(.good, "list", "\(many)\(page.objects.count) keys below '\(settings.source.prefix)'")
      if let object = page.objects.first(where: {
        $0.revision.size > 0 && !Self.archives.contains($0.storageClass ?? "")
      }) {
        return object
      }
      note(.odd, "read", "there is nothing to be read")
      return nil
    } catch {
      fail("list", error)
      return nil
    }
  }

  /// What lies there must be restored before it is read.
  private static let archives = ["GLACIER", "DEEP_ARCHIVE"]

  // MARK: This machine

  private func examineFUSE() {
    do throws(MountError) {
      try MountPoint.checkMachine(allowOther: settings.allowOther)
      note(.good, "FUSE", "/dev/fuse can be used")
    } catch { note(.bad(.mountPointUnusable), "FUSE", error.description) }
  }

  private func examineCache() {
    let root = settings.cacheRoot
    let name = root + "/.doctor-\(ThisProcess.identifier)"
    do throws(Errno) {
      try FileSystem.makeDirectories(root)
      try FileSystem.write([0], to: name, mode: 0o600)
      try FileSystem.removeFile(name)
      let space = try FileSystem.space(root)
      note(.good, "cache", "\(root) can be written, \(ByteCount(space.free)) are free")
    } catch { note(.bad(.cacheUnusable), "cache", "\(root): \(error)", cure: "choose another --cache-dir") }
  }
}

/// The date of an answer.
private final class HeadOnly: HTTPResponseHandler {
  private let received = Mutex<Timestamp?>(nil)
  var date: Timestamp? { received.withLock { $0 } }
  func head(_ head: HTTPHead) -> Bool {
    received.withLock { $0 = head.text("date").flatMap { Timestamp(httpDate: $0) } }
    return true
  }
  func body(_ bytes: RawSpan) -> Bool { true }
}
