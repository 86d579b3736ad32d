// How long answers took, in steps that a graph can be drawn of.
import MirrorPlatform

/// Waits, counted by length.
public struct WaitHistogram: Equatable, Sendable {
  /// The longest wait of each step, seconds; what took longer comes last.
  public static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  /// By step.
  public private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
  /// Seconds.
  public private(set) var sum = 0.0

  public init() {}

  public var count: Int { counts.reduce(0, +) }

  public mutating func add(_ wait: Duration) {
    let seconds = max(0, wait.secondsValue)
    counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
    sum += seconds
  }
}
