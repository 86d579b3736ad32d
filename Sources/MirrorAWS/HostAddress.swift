// Scheme, host and port of a URL, in the form that is sent and signed.

public struct HostAddress: Hashable, Sendable {
  /// `http` or `https`.
  public let scheme: String
  /// Lower case; an IPv6 address in brackets.
  public let host: String
  /// Nil for the scheme's own.
  public let port: Int?

  init(scheme: String, host: String, port: Int?) {
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = port == (scheme == "https" ? 443 : 80) ? nil : port
  }

  public var hostHeader: String { port.map { "\(host):\($0)" } ?? host }
  public var url: String { "\(scheme)://\(hostHeader)" }

  /// An address instead of a name.
  var isLiteral: Bool { host.hasPrefix("[") || host.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") } }
  var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || host.hasPrefix("127.")
  }

  func prefixed(_ label: String) -> HostAddress { HostAddress(scheme: scheme, host: "\(label).\(host)", port: port) }

  /// `http[s]://host[:port][/path][?query]`: the address, and the path as spelled without a trailing slash.
  static func parse(url: String) throws(EndpointError) -> (address: HostAddress, path: String) {
    let text = url.drop { $0 == " " }
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      throw EndpointError("\(url) is no endpoint URL: it must begin with http:// or https://")
    }
    let scheme = text[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw EndpointError("\(url) is no endpoint URL: it must begin with http:// or https://")
    }
    let rest = text[text.index(colon, offsetBy: 3)...].prefix { $0 != "?" && $0 != "#" }
    let authority = rest.prefix { $0 != "/" }
    guard !authority.contains("@") else { throw EndpointError("an endpoint URL can't hold a user or password") }
    var path = String(rest.dropFirst(authority.count))
    while path.hasSuffix("/") { path.removeLast() }

    let nameEnd = authority.hasPrefix("[") ? authority.lastIndex(of: "]") : nil
    let portMark = authority[(nameEnd ?? authority.startIndex)...].firstIndex(of: ":")
    let host = String(authority[..<(portMark ?? authority.endIndex)])
    var port: Int?
    if let portMark {
      port = Int(authority[authority.index(after: portMark)...])
      guard let port, (1...65535).contains(port) else { throw EndpointError("\(url) has no valid port") }
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), host.hasPrefix("[") == (nameEnd != nil)
    else {
      throw EndpointError("\(url) has no valid host")
    }
    return (HostAddress(scheme: scheme, host: host, port: port), path)
  }
}
