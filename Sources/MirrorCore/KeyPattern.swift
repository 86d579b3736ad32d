// Keys that a shell pattern means.
public import MirrorStore

public struct KeyPattern: Sendable {
  private let glob: Glob
  /// What all of them begin with.
  public let literal: ObjectKey

  /// Nil for what has nothing of a pattern in it.
  public init?(_ text: ObjectKey) {
    guard Glob.isPattern(text.bytes), let written = text.text else { return nil }
    glob = Glob(written)
    // A pattern without `/` means names in any directory.
    literal = text.bytes.contains(0x2F) ? ObjectKey(Array(text.bytes.prefix { !Glob.isPattern([$0]) })) : ObjectKey([])
  }

  public func matches(_ key: ObjectKey) -> Bool { glob.matches(key.bytes[...]) }
}
