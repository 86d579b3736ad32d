// Takes secrets out of text that is going to be shown to others.
import MirrorPlatform

/// What is known to be secret here, and what looks secret anywhere.
public struct Redaction: Sendable {
  static let mark = Array("[removed]".utf8)
  /// Shorter ones would tear words apart.
  private static let shortest = 6

  /// The longest first: one secret may be a part of another.
  private let secrets: [[UInt8]]

  public init(secrets: [String]) {
    self.secrets = secrets.map { Array($0.utf8) }.filter { $0.count >= Self.shortest }
      .sorted { $0.count > $1.count }
  }

  /// Names of settings whose values are secret, in lower case: what ends so.
  private static let secretNames = [
    "secret_access_key", "session_token", "security_token", "password", "passwd", "authorization_token",
    "authorization",
    "x-amz-signature", "x-amz-security-token", "x-amz-credential", "signature", "client_secret", "clientsecret",
    "refreshtoken", "accesstoken", "secretaccesskey", "sessiontoken", "-customer-key", "sso_token",
  ]

  /// Line by line; what follows the name of a secret goes to the end of its value.
  public func applied(to text: [UInt8]) -> [UInt8] {
    var text = text
    for secret in secrets { text = Self.replaced(secret, in: text) }
    let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      Self.withoutUserInfo(Self.withoutValues(Array(line)))
    }
    return Array(lines.joined(separator: [0x0A]))
  }

  public func applied(to text: String) -> String { String(decoding: applied(to: Array(text.utf8)), as: UTF8.self) }

  private static func replaced(_ secret: [UInt8], in text: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var rest = text[...]
    while let found = rest.range(of: secret) {
      out += rest[..<found.lowerBound] + mark
      rest = rest[found.upperBound...]
    }
    return out + rest
  }

  /// `name = value`, `name: value`, `"name":"value"`, `name=value&…`
  private static func withoutValues(_ line: [UInt8]) -> [UInt8] {
    let lower = line.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }
    var out: [UInt8] = []
    var index = 0
    while index < line.count {
      let byte = line[index]
      if byte == 0x3D || byte == 0x3A, isSecret(lower[..<index]) {
        var from = index + 1
        while from < line.count, line[from] == 0x20 || line[from] == 0x22 || line[from] == 0x27 { from += 1 }
        var to = from
        // A header's value has blanks in it; others end where a list or a quotation goes on.
        let isHeader = lower[..<index].suffix(14).range(of: Array("authorization".utf8)) != nil
        while to < line.count, isHeader || !Self.ends(line[to]) { to += 1 }
        out += line[index..<from] + (to > from ? mark : [])
        index = to
      } else {
        out.append(byte)
        index += 1
      }
    }
    return out
  }

  private static func ends(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20, 0x22, 0x27, 0x26, 0x2C, 0x3B, 0x7D, 0x09: true
    default: false
    }
  }

  /// Whether the name before a separator is that of a secret; blanks and quotes may lie in between.
  private static func isSecret(_ before: ArraySlice<UInt8>) -> Bool {
    var name = before
    while let last = name.last, last == 0x20 || last == 0x22 || last == 0x27 { name.removeLast() }
    return secretNames.contains { name.suffix($0.utf8.count).elementsEqual($0.utf8) }
  }

  /// `scheme://user:password@host`
  private static func withoutUserInfo(_ line: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var rest = line[...]
    while let found = rest.range(of: Array("://".utf8)) {
      out += rest[..<found.upperBound]
      rest = rest[found.upperBound...]
      let authority = rest.prefix { $0 != 0x2F && $0 != 0x20 && $0 != 0x22 && $0 != 0x27 }
      if let at = authority.lastIndex(of: 0x40) {
        out += mark
        rest = rest[at...]
      }
    }
    return out + rest
  }
}

extension Redaction {
  /// Of what this process can find to be secret: in its environment, and in the files of AWS.
  public static func ofThisMachine() -> Redaction {
    let names = [
      "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    ]
    var secrets = names.compactMap { ThisProcess.environment($0) }
    let home = ThisProcess.home ?? ""
    let files = [
      ThisProcess.environment("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials",
      ThisProcess.environment("AWS_CONFIG_FILE") ?? home + "/.aws/config",
    ]
    for file in files {
      let text = String(decoding: (try? FileSystem.read(file)) ?? [], as: UTF8.self)
      for line in text.split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { continue }
        let name = parts[0].filter { $0 != " " }.lowercased()
        let value = String(parts[1].drop { $0 == " " || $0 == "\t" }.prefix { $0 != "\r" })
        if name.hasSuffix("secret_access_key") || name.hasSuffix("token") { secrets.append(value) }
      }
    }
    return Redaction(secrets: secrets)
  }
}
