// Brings the ledger to disk while a mount runs: soon after there is something to save, and never when there is nothing.
import MirrorCache
import MirrorPlatform
import MirrorStore

struct LedgerSaving: Sendable {
  /// With the second that the catalogue takes, what a crash may cost.
  static let interval = Duration.seconds(2)

  private let ledger: Ledger
  private let catalogue: Catalogue

  init(_ ledger: Ledger, _ catalogue: Catalogue) {
    self.ledger = ledger
    self.catalogue = catalogue
  }

  /// Goes on from what earlier mounts left; waits for the catalogue, so not for the cooperative pool.
  func start() {
    let today = Ledger.day(SystemClock().wall())
    ledger.resume(waitFor { [catalogue] in await catalogue.ledger(days: today...today) })
    catalogue.savePrices(ledger.prices)
    ledger.whenUnsaved { [weak ledger, catalogue] in
      Task {
        try? await Task.sleep(for: Self.interval)
        if let ledger { catalogue.saveLedger(ledger.takeUnsaved()) }
      }
    }
  }
}
