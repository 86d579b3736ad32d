// What a request is asked for: when money is short, this decides which of them are put off.
public import MirrorPlatform

public enum RequestPurpose: Sendable, Equatable {
  /// A copy is at hand, past its `lifetime`; its name was last `used` before this at that time.
  case validation(used: Instant, lifetime: Duration)
  /// A listing is at hand, past its lifetime.
  case listing
  /// Nothing is at hand that could be served instead.
  case content
  /// Nobody waits for it yet: it is fetched ahead.
  case ahead
  /// Whether the origin answers.
  case probe

  /// Something can be served in its place, or it can be asked later.
  public var isDeferrable: Bool { self != .content }
}
