// What the request under way may take; a store that sends it again asks here first.
import MirrorPlatform
import Synchronization

/// What was taken from the purse for one request, until it is over.
public final class Allowance: Sendable {
  /// That of the request that this task sends; nil where there is no budget.
  @TaskLocal public static var current: Allowance?

  private let purse: Purse
  private let request: PricedRequest
  private let taken = Mutex<[Estimate]>([])

  init(_ purse: Purse, _ request: PricedRequest) {
    self.purse = purse
    self.request = request
  }

  func take() async throws(StoreError) {
    let estimate = try await purse.take(request)
    taken.withLock { $0.append(estimate) }
  }

  /// Before the same request is sent once more, to another place or with other keys.
  /// - Throws: `.overBudget`.
  public func again() async throws(StoreError) {
    end()
    try await take()
  }

  /// One of its own for a request without content that this one needs, and others perhaps, among them readers; to be
  /// ended.
  /// - Throws: `.overBudget`.
  public func another(_ kind: RequestKind, operation: String) async throws(StoreError) -> Allowance {
    let other = Allowance(purse, PricedRequest(.content, kind, bytes: 0, ObjectKey([]), operation: operation))
    try await other.take()
    return other
  }

  /// What was sent is noted in place of what was taken for it.
  func settle() -> [Estimate] {
    taken.withLock { taken in
      defer { taken = [] }
      return taken
    }
  }

  /// What was taken and not sent goes back.
  public func end() { purse.giveBack(settle()) }
}
