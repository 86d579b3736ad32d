// Joins the layers that `seed create` needs: a bucket to ask, and no cache and no mount.
import MirrorAWS
public import MirrorCore
import MirrorHTTP
import MirrorPlatform
import MirrorStore

public enum SeedMaking {
  /// Fetches what `settings` name as their source into the directory that they name as their mount point. Blocks.
  public static func run(
    _ settings: MountSettings, progress: @escaping @Sendable (ControlStep) -> Void
  ) throws(CommandFailure) -> SeedSummary {
    if settings.offline {
      throw CommandFailure(.usage, "a seed is made of what the bucket holds, which --offline asks for nothing")
    }
    let clock = SystemClock()
    let origin = OriginSettings(settings)
    let directory = absolutePath(settings.mountPoint)
    let transport: HTTPTransport
    do throws(Errno) { transport = try HTTPTransport(origin.transport) } catch {
      throw CommandFailure(.failure, "can't start the transfer thread: \(error)")
    }
    defer { transport.close() }
    let ledger = Ledger(prices: settings.prices, clock: clock)
    var store: any ObjectStore
    do throws(EndpointError) {
      store = try S3Store(
        configuration: origin.s3(transport, clock: clock, log: .none), transport: transport, ledger: ledger,
        clock: clock)
    } catch { throw CommandFailure(.usage, "source '\(settings.source.written)': \(error)") }
    if !settings.budgets.isEmpty {
      let purse = Purse(settings.budgets, prices: settings.prices, clock: clock)
      store = BudgetedStore(store, purse: purse, ledger: ledger)
    }
    store = FilledPages(RetryingStore(store, policy: origin.retries, clock: clock), clock: clock)
    if let time = settings.at { store = PastStore(store, at: time, clock: clock) }
    let creation = SeedCreation(
      store, source: settings.source.url, prefix: settings.source.prefix, directory: directory, clock: clock
    ) { done in
      var step = ControlStep(objects: done.objects, bytes: done.bytes)
      (step.doneObjects, step.doneBytes) = (done.doneObjects, done.doneBytes)
      progress(step)
    }
    let result = waitFor { () async -> Result<SeedSummary, SeedFailure> in
      do throws(SeedFailure) { return .success(try await creation.run()) } catch { return .failure(error) }
    }
    do throws(SeedFailure) { return try result.get() } catch {
      switch error {
      case .store(let error):
        let (code, advice) = CommandFailure.verdict(on: error)
        throw CommandFailure(code, "can't make a seed of \(settings.source.written): \(error.description); \(advice)")
      case .file(let path, let error):
        throw CommandFailure(.failure, "'\(path)': \(error); name a DIR that can be written")
      }
    }
  }
}
