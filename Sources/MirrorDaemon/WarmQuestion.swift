// What `warm` asks of a mount, as the argument of a control request.
public import MirrorCore

public struct WarmQuestion: Equatable, Sendable {
  public var targets: [WarmTarget]
  /// Only say what would be fetched.
  public var isDry: Bool

  public init(_ targets: [WarmTarget], isDry: Bool) {
    self.targets = targets
    self.isDry = isDry
  }

  /// `d` or `f`, then for each target NUL, `p` or `n`, and its path: no path holds a NUL.
  public var encoded: [UInt8] {
    targets.reduce(into: [isDry ? 0x64 : 0x66]) { bytes, target in
      bytes += [0, target.isPattern ? 0x70 : 0x6E] + target.path
    }
  }

  public init(encoded bytes: [UInt8]) {
    let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
    isDry = parts.first?.first != 0x66
    targets = parts.dropFirst().map { WarmTarget(Array($0.dropFirst()), isPattern: $0.first == 0x70) }
  }
}
