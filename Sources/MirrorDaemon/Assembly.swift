// Joins the layers of one mount; nothing else knows more than its neighbours.
import MirrorAWS
import MirrorCache
import MirrorCore
import MirrorFUSE
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// transport → S3 → retries → mirror (with its cache) → kernel session.
struct Assembly: Sendable {
  let transport: HTTPTransport
  let ledger: Ledger
  let cache: Cache
  let mirror: BucketMirror
  let session: KernelSession
  /// Where requests go, as a URL.
  let endpoint: String

  init(_ settings: MountSettings, _ place: MountPlace, log: Log) throws(CommandFailure) {
    let clock = SystemClock()
    let origin = OriginSettings(settings, clock: clock, log: log)
    ledger = Ledger(clock: clock)
    do throws(Errno) { transport = try HTTPTransport(origin.transport) } catch {
      throw CommandFailure(.failure, "can't start the transfer thread: \(error)")
    }
    let store: S3Store
    do throws(EndpointError) {
      store = try S3Store(configuration: origin.s3, transport: transport, ledger: ledger, clock: clock, log: log)
    } catch { throw CommandFailure(.usage, "source '\(settings.source.written)': \(error)") }
    endpoint = origin.s3.endpointURL ?? "https://\(store.endpointHost)"
    do throws(CacheError) {
      cache = try Cache.open(settings.cacheConfiguration(place, endpoint: origin.name), clock: clock, log: log)
    } catch {
      transport.close()
      throw CommandFailure(error)
    }
    mirror = BucketMirror(
      configuration: settings.mirrorConfiguration,
      store: RetryingStore(store, policy: RetryPolicy(maximumAttempts: origin.attempts), clock: clock), cache: cache,
      ledger: ledger, clock: clock, log: log)
    do throws(MountError) {
      session = try KernelSession(tree: mirror, options: settings.mountOptions, log: log)
    } catch {
      Self.close(cache)
      transport.close()
      throw CommandFailure(error)
    }
    mirror.attach(session.notices)
  }

  /// Writes and gives up the cache, then ends what transfers are left. Blocks; not for the cooperative pool.
  func close() {
    Self.close(cache)
    transport.close()
  }

  private static func close(_ cache: Cache) { waitFor { await cache.close() } }

  /// USD of this UTC month, by all mounts that used this cache.
  func costThisMonth() async -> Double {
    cache.catalogue.saveLedger(ledger.takeUnsaved())
    let today = SystemClock().wall().seconds / 86400
    let month = Timestamp(seconds: today * 86400).month
    let days = await cache.catalogue.ledger().filter { day, _ in
      today - day < 31 && Timestamp(seconds: day * 86400).month == month
    }
    return days.values.reduce(0) { $0 + $1.cost(ledger.prices) }
  }
}
