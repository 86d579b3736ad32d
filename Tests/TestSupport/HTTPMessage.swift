// HTTP/1.1 as the test servers read and write it (RFC 9112).
import Glibc
import MirrorPlatform

/// Header fields in their order; names are compared in lower case.
public struct Fields: Sendable {
  public var all: [(name: String, value: String)] = []
  public init(_ all: [(String, String)] = []) { self.all = all.map { ($0.0, $0.1) } }

  public subscript(_ name: String) -> String? {
    get { all.first { $0.name.lowercased() == name.lowercased() }?.value }
    set {
      all.removeAll { $0.name.lowercased() == name.lowercased() }
      if let newValue { all.append((name, newValue)) }
    }
  }

  init(lines: some Sequence<[UInt8]>) {
    for line in lines {
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      all.append((String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)))
    }
  }

  var text: String { all.map { "\($0.name): \($0.value)\r\n" }.joined() }
}

/// Start line and fields of a request or an answer.
struct MessageHead: Sendable {
  let bytes: [UInt8]
  let start: [[UInt8]]
  let fields: Fields

  init?(_ bytes: [UInt8]) {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for byte in bytes {
      if byte != 10 {
        line.append(byte)
        continue
      }
      if line.last == 13 { line.removeLast() }
      if !line.isEmpty { lines.append(line) }
      line = []
    }
    guard let first = lines.first else { return nil }
    start = first.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false).map(Array.init)
    guard start.count >= 2 else { return nil }
    fields = Fields(lines: lines.dropFirst())
    self.bytes = bytes
  }

  var method: String { String(decoding: start[0], as: UTF8.self) }
  var target: [UInt8] { start[1] }
  var status: Int { Int(String(decoding: start[1], as: UTF8.self)) ?? 0 }
  var length: Int? { fields["content-length"].flatMap { Int($0) } }
  var isChunked: Bool { fields["transfer-encoding"]?.lowercased().contains("chunked") ?? false }
  var closes: Bool { fields["connection"]?.lowercased() == "close" }
}

/// A request's query, decoded; names are text, values bytes.
public struct Query: Sendable {
  public var all: [(name: String, value: [UInt8])] = []

  init(_ raw: some Collection<UInt8>) {
    for part in Array(raw).split(separator: 0x26) {
      let pair = part.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(decoding: percentDecoded(pair[0], form: true), as: UTF8.self)
      all.append((name, pair.count > 1 ? percentDecoded(pair[1], form: true) : []))
    }
  }

  public func bytes(_ name: String) -> [UInt8]? { all.first { $0.name == name }?.value }
  public subscript(_ name: String) -> String? { bytes(name).map { String(decoding: $0, as: UTF8.self) } }
}

/// Sends one request to a loopback port on a connection of its own; for setting tests up.
func exchange(port: UInt16, method: String, target: String, fields: Fields, body: [UInt8] = []) throws -> (
  status: Int, fields: Fields, body: [UInt8]
) {
  let connection = try Connection.open(port: port)
  var fields = fields
  fields["Content-Length"] = "\(body.count)"
  fields["Connection"] = "close"
  connection.write(Array("\(method) \(target) HTTP/1.1\r\n\(fields.text)\r\n".utf8) + body)
  while let head = connection.readHead().flatMap(MessageHead.init) {
    if head.status == 100 { continue }
    if method == "HEAD" { return (head.status, head.fields, []) }
    var answer: [UInt8] = []
    guard
      connection.readBody(
        of: head,
        {
          answer += $0; return true
        })
    else { break }
    return (head.status, head.fields, answer)
  }
  throw SystemFailure(message: "\(method) \(target): no answer")
}

extension Connection {
  /// Hands on the body that follows `head`, raw parts with chunk framing taken away; false when cut short.
  func readBody(of head: MessageHead, _ take: ([UInt8]) -> Bool) -> Bool {
    if head.isChunked {
      while let line = readLine(),
        let size = Int(String(decoding: line.prefix { $0 != 0x3B }, as: UTF8.self), radix: 16)
      {
        if size == 0 {
          while let trailer = readLine() { if trailer.isEmpty { return true } }
          return false
        }
        guard let part = read(exactly: size), readLine() != nil, take(part) else { return false }
      }
      return false
    }
    guard let length = head.length else {
      while true {
        let part = read()
        if part.isEmpty { return true }
        if !take(part) { return false }
      }
    }
    var left = length
    while left > 0 {
      let part = read(upTo: min(left, 1 << 18))
      if part.isEmpty || !take(part) { return false }
      left -= part.count
    }
    return true
  }
}
