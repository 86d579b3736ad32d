// What `cache pin` and `cache unpin` name to a mount: a path in it, or the beginning of keys.
public import MirrorStore

public enum PinQuestion: Equatable, Sendable {
  /// Relative to the mount's root.
  case path([UInt8])
  case prefix(ObjectKey)

  /// `p` or `k`, and the bytes.
  public var encoded: [UInt8] {
    switch self {
    case .path(let path): [0x70] + path
    case .prefix(let prefix): [0x6B] + prefix.bytes
    }
  }

  public init(encoded bytes: [UInt8]) {
    let rest = Array(bytes.dropFirst())
    self = bytes.first == 0x6B ? .prefix(ObjectKey(rest)) : .path(rest)
  }
}
