// The first stage of a signature: a request spelled in the one way that both sides hash.
import MirrorPlatform

public struct CanonicalRequest: Hashable, Sendable {
  public let text: String
  /// `host;range;x-amz-date`
  public let signedHeaders: String

  /// `path` is encoded already; `headers` are those to sign, Host among them.
  public init(
    method: String, path: String, query: CanonicalQuery, headers: [(name: String, value: String)],
    payloadHash: String = SigV4.emptyHash
  ) {
    let fields = Self.merged(headers)
    signedHeaders = fields.map(\.name).joined(separator: ";")
    var text = "\(method)\n\(path)\n\(query.text)\n"
    for field in fields { text += "\(field.name):\(field.value)\n" }
    self.text = text + "\n\(signedHeaders)\n\(payloadHash)"
  }

  /// Lower-case names in byte order; values trimmed, inner blanks single, values of one name joined by commas.
  private static func merged(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    for header in headers {
      let name = header.name.utf8.contains { (0x41...0x5A).contains($0) } ? header.name.lowercased() : header.name
      let value = singleSpaced(header.value)
      if let index = fields.firstIndex(where: { $0.name == name }) {
        fields[index].value += ",\(value)"
      } else {
        fields.append((name, value))
      }
    }
    return fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Most values have no blank at all, and are kept as they are.
  private static func singleSpaced(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 <= 0x20 }) else { return value }
    return value.split(whereSeparator: { " \t\r\n".contains($0) }).joined(separator: " ")
  }
}

/// A query in canonical order and encoding: what is signed and what is sent.
public struct CanonicalQuery: Hashable, Sendable {
  public let text: String

  public init(_ items: [(name: String, value: [UInt8])] = []) {
    let pairs = items.map {
      (percentEncoded($0.name.utf8, keepingSlash: false), percentEncoded($0.value, keepingSlash: false))
    }
    let ordered = pairs.sorted {
      $0.0 == $1.0 ? $0.1.utf8.lexicographicallyPrecedes($1.1.utf8) : $0.0.utf8.lexicographicallyPrecedes($1.0.utf8)
    }
    text = ordered.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// An S3 key as a path: every byte but the unreserved ones and `/` encoded once, nothing normalised.
  public static func path(key: [UInt8]) -> String { "/" + percentEncoded(key, keepingSlash: true) }
}
