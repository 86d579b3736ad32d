// What somebody else says happened to an object: a reason to ask the origin, never an answer of its own.

/// One object was written or deleted.
public struct KeyChange: Hashable, Sendable {
  public var key: ObjectKey
  public var isRemoval: Bool
  /// Orders the changes of one key: hexadecimal, of any length. Nil where the sender has none.
  public var sequencer: String?
  public var version: String?
  /// When it happened, as the sender spells it.
  public var time: String

  public init(
    _ key: ObjectKey, isRemoval: Bool = false, sequencer: String? = nil, version: String? = nil, time: String = ""
  ) {
    self.key = key
    self.isRemoval = isRemoval
    self.sequencer = sequencer
    self.version = version
    self.time = time
  }
}
