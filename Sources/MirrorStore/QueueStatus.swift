// How listening to a queue of changes goes.
public import MirrorPlatform

public struct QueueStatus: Equatable, Sendable {
  public enum Condition: Equatable, Sendable {
    case starting
    case listening(since: WallTime)
    case failing(since: WallTime, because: String)
  }

  public var queue: String
  public var condition = Condition.starting
  /// Requests sent to the queue's service.
  public var requests = 0
  public var messages = 0
  /// Changes of keys that were news.
  public var changes = 0

  public init(queue: String) { self.queue = queue }

  /// USD, by the price of a standard queue of SQS.
  public var cost: Double { Double(requests) * 0.40 / 1e6 }
}
