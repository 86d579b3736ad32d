// The status and header fields of an answer, as bytes of one block.

public struct HTTPHead: Sendable {
  public let status: Int
  private let block: [UInt8]
  private let fields: [Field]

  struct Field: Sendable {
    let name: Range<Int>
    let value: Range<Int>
  }

  /// For a store without a network; a field's name in any case.
  public init(status: Int, fields: [(String, String)] = []) {
    var parser = HTTPHeadParser()
    for (name, value) in fields { parser.add(line: Array("\(name): \(value)".utf8)) }
    self.init(status: status, block: parser.block, fields: parser.fields)
  }

  init(status: Int, block: [UInt8], fields: [Field]) {
    self.status = status
    self.block = block
    self.fields = fields
  }

  /// The first field of this lower-case name, without surrounding blanks.
  public func bytes(_ name: String) -> [UInt8]? {
    let wanted = name.utf8
    guard let field = fields.first(where: { $0.name.count == wanted.count && block[$0.name].elementsEqual(wanted) })
    else { return nil }
    return Array(block[field.value])
  }

  /// The same as text, bytes that are not UTF-8 replaced.
  public func text(_ name: String) -> String? { bytes(name).map { String(decoding: $0, as: UTF8.self) } }

  /// Every field whose lower-case name begins so, as (rest of the name, value).
  public func all(prefix: String) -> [(name: String, value: String)] {
    let wanted = prefix.utf8
    return fields.compactMap { field in
      guard block[field.name].starts(with: wanted) else { return nil }
      return (
        String(decoding: block[field.name].dropFirst(wanted.count), as: UTF8.self),
        String(decoding: block[field.value], as: UTF8.self)
      )
    }
  }

  /// No body is longer, bytes: what is said to be can't be reckoned with.
  public static let longestBody: Int64 = 1 << 60

  /// Content-Length, where it is a number.
  public var contentLength: Int64? {
    text("content-length").flatMap { Int64($0) }.flatMap { (0...Self.longestBody).contains($0) ? $0 : nil }
  }
}

/// Collects header lines; a new status line begins anew (interim answers, RFC 9110 §15.2).
struct HTTPHeadParser {
  enum Step { case more, head(HTTPHead), malformed }

  private(set) var block: [UInt8] = []
  private(set) var fields: [HTTPHead.Field] = []
  private var status = 0
  private var isComplete = false
  /// All lines of one answer, bytes.
  private let limit = 256 << 10

  mutating func reset() {
    block.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    status = 0
    isComplete = false
  }

  /// One line with its line end, as libcurl hands it over; the empty line completes a head.
  mutating func receive(line: some Collection<UInt8>) -> Step {
    if line.starts(with: "HTTP/".utf8) {
      reset()
      let digits = line.drop { $0 != 0x20 }.drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }
      status = digits.count == 3 ? digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } : 0
      return status == 0 ? .malformed : .more
    }
    // What follows the head's end is a trailer: nothing is taken from there.
    if isComplete { return .more }
    if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
      guard status >= 200 else { return .more }
      isComplete = true
      return .head(HTTPHead(status: status, block: block, fields: fields))
    }
    add(line: line)
    return block.count <= limit ? .more : .malformed
  }

  /// `name: value`; a line without a colon is passed over.
  mutating func add(line: some Collection<UInt8>) {
    guard let colon = line.firstIndex(of: 0x3A) else { return }
    let nameStart = block.count
    for byte in line[..<colon] where byte > 0x20 { block.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
    let nameEnd = block.count
    block.append(contentsOf: line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 })
    while block.count > nameEnd, let last = block.last, last <= 0x20 { block.removeLast() }
    fields.append(HTTPHead.Field(name: nameStart..<nameEnd, value: nameEnd..<block.count))
  }
}
