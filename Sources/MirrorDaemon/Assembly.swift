// Joins the layers of one mount; nothing else knows more than its neighbours.
import MirrorAWS
import MirrorCache
import MirrorCore
import MirrorFUSE
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// transport → S3 → budget → measure → retries → mirror (with its cache) → kernel session.
struct Assembly: Sendable {
  let transport: HTTPTransport
  let ledger: Ledger
  let traffic: OriginTraffic
  /// Nil where no budget is set.
  let purse: Purse?
  let cache: Cache
  let mirror: BucketMirror
  /// Looks after what is pinned, once it is started.
  let keeper: PinKeeper
  /// Nil where no queue tells of changes.
  let events: MountEvents?
  let session: KernelSession
  /// Where requests go, as a URL.
  let endpoint: String

  init(_ settings: MountSettings, _ place: MountPlace, log: Log) throws(CommandFailure) {
    let clock = SystemClock()
    let origin = OriginSettings(settings)
    traffic = OriginTraffic(clock: clock)
    ledger = Ledger(prices: settings.prices, prefix: settings.source.prefix, clock: clock)
    do throws(Errno) { transport = try HTTPTransport(origin.transport) } catch {
      throw CommandFailure(.failure, "can't start the transfer thread: \(error)")
    }
    let s3 = origin.s3(transport, clock: clock, log: log)
    let store: S3Store
    do throws(EndpointError) {
      store = try S3Store(configuration: s3, transport: transport, ledger: ledger, clock: clock, log: log)
    } catch { throw CommandFailure(.usage, "source '\(settings.source.written)': \(error)") }
    endpoint = origin.endpointURL ?? "https://\(store.endpointHost)"
    do throws(CacheError) {
      var configuration = settings.cacheConfiguration(place, endpoint: origin.name)
      configuration.seed = try settings.seed.map { (path) throws(CacheError) in try Seed(path) }
      cache = try Cache.open(configuration, clock: clock, log: log)
    } catch {
      transport.close()
      throw CommandFailure(error)
    }
    LedgerSaving(ledger, cache.catalogue).start()
    let seeded = waitFor { [cache] in await cache.learnSeed() }
    if seeded > 0 { log.notice("\(seeded) names were learned from the seed \(settings.seed ?? "")") }
    var paid: any ObjectStore = store
    if settings.budgets.isEmpty {
      purse = nil
    } else {
      let file = SpendingFile(path: cache.directory + "/spending")
      let purse = Purse(settings.budgets, prices: settings.prices, file: file, clock: clock, log: log)
      paid = BudgetedStore(store, purse: purse, ledger: ledger)
      self.purse = purse
    }
    let retried = RetryingStore(
      MeasuredStore(paid, traffic: traffic), policy: origin.retries, clock: clock, traffic: traffic)
    var asked: any ObjectStore = FilledPages(retried, clock: clock)
    if let time = settings.at { asked = PastStore(asked, at: time, clock: clock) }
    var configuration = settings.mirrorConfiguration
    if store.isDirectoryBucket { configuration.storageClass = .expressOneZone }
    mirror = BucketMirror(
      configuration: configuration, store: asked, cache: cache, ledger: ledger, traits: store.traits, clock: clock,
      log: log)
    keeper = PinKeeper(mirror)
    do throws(Errno) { events = try MountEvents(settings, origin, s3.credentials, mirror, log: log) } catch {
      Self.close(cache, ledger, purse)
      transport.close()
      throw CommandFailure(.failure, "can't start the thread that listens to events: \(error)")
    }
    var options = settings.mountOptions
    if settings.passthrough { options.passthroughBeside = cache.directory + "/source" }
    do throws(MountError) {
      session = try KernelSession(
        tree: mirror, quietTree: QuietView(of: mirror), options: options, log: log)
    } catch {
      events?.close()
      Self.close(cache, ledger, purse)
      transport.close()
      throw CommandFailure(error)
    }
    mirror.attach(session.notices)
  }

  /// Writes and gives up the cache, then ends what transfers are left. Blocks; not for the cooperative pool.
  func close() {
    events?.close()
    Self.close(cache, ledger, purse)
    transport.close()
  }

  private static func close(_ cache: Cache, _ ledger: Ledger, _ purse: Purse?) {
    purse?.close()
    cache.catalogue.saveLedger(ledger.takeUnsaved())
    waitFor { await cache.close() }
  }

  /// What was asked on these UTC days, by all mounts that used this cache, up to now.
  func requests(days: ClosedRange<Int64>) async -> LedgerEntries {
    cache.catalogue.saveLedger(ledger.takeUnsaved())
    return await cache.catalogue.ledger(days: days)
  }

  /// USD of this UTC month, by all mounts that used this cache.
  func costThisMonth() async -> Double {
    let month = BillingMonth(at: SystemClock().wall())
    return await requests(days: month.firstDay...month.today).reduce(0) {
      $0 + ledger.prices.cost($1.key.requests, $1.value)
    }
  }
}
