// For whom requests are made: for readers who wait, or ahead of them, at the pace of the budget.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Something fetched ahead: nobody waits for it, so it leaves alone what the budget keeps for readers.
final class Errand: Sendable {
  /// Of the task that asks; nil where somebody waits.
  @TaskLocal static var current: Errand?

  private let refusal = Mutex<Duration?>(nil)

  /// When there is money for what the budget has put off; nil: nothing was.
  var wait: Duration? { refusal.withLock { $0 } }

  func note(_ error: StoreError) {
    guard error.code == .overBudget, let wait = error.retryAfter else { return }
    refusal.withLock { $0 = max($0 ?? .zero, wait) }
  }

  /// What a request of this task is for, given what it would be for if a reader waited.
  static func purpose(_ usual: RequestPurpose) -> RequestPurpose { current == nil ? usual : .ahead }
}

extension BucketMirror {
  /// The budget paces what is fetched ahead. What must wait longer than this for its turn fails: there is no money.
  static let longestTurn = Duration.seconds(600)
  private static let shortestTurn = Duration.milliseconds(100)

  /// Does something ahead of readers, as often as the budget puts it off for a moment; nil when it is done.
  func ahead(_ body: () async -> Errno?) async -> Errno? {
    while true {
      let errand = Errand()
      let failure = await Errand.$current.withValue(errand) { await body() }
      guard failure != nil, let wait = errand.wait, wait <= Self.longestTurn, !Task.isCancelled else { return failure }
      await sleep(max(wait, Self.shortestTurn))
    }
  }
}
