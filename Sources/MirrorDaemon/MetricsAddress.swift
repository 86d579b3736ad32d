// Where metrics are served: `[ADDRESS:]PORT`, on loopback unless an address is named.
import MirrorPlatform

public struct MetricsAddress: Equatable, Sendable, CustomStringConvertible {
  /// Numeric, or `localhost`.
  public let host: String
  /// 0 is any that is free.
  public let port: UInt16

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// `9464`, `0.0.0.0:9464`, `[::1]:9464`; nil for anything else.
  public init?(parsing text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard let last = parts.last, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(last) else {
      return nil
    }
    var host = String(text.dropLast(last.count + 1))
    if parts.count == 1 {
      host = "127.0.0.1"
    } else if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if parts.count > 2 {
      return nil
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ Self.isPartOfHost($0) }) else { return nil }
    self.init(host: host, port: port)
  }

  private static func isPartOfHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x61...0x7A, 0x41...0x5A, 0x2D, 0x2E, 0x3A: true
    default: false
    }
  }

  public var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
