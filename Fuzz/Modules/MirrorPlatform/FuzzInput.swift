// What the fuzzer gives, taken apart from the front; and what a target says when a promise is broken.
import CFuzzer

public struct FuzzInput {
  private var left: ArraySlice<UInt8>

  public init(_ bytes: [UInt8]) { left = bytes[...] }

  public var isEmpty: Bool { left.isEmpty }

  /// 0 at the end.
  public mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

  /// Eight bytes, the lowest first.
  public mutating func number() -> Int64 {
    var value: UInt64 = 0
    for shift in 0..<8 { value |= UInt64(byte()) << UInt64(8 * shift) }
    return Int64(bitPattern: value)
  }

  /// As many bytes as the next one says.
  public mutating func short() -> [UInt8] {
    let count = Int(byte())
    let part = Array(left.prefix(count))
    left = left.dropFirst(count)
    return part
  }

  /// Up to a byte that ends it, or all.
  public mutating func part(upTo end: UInt8) -> [UInt8] {
    let part = Array(left.prefix { $0 != end })
    left = left.dropFirst(part.count + 1)
    return part
  }

  public mutating func rest() -> [UInt8] {
    defer { left = [] }
    return Array(left)
  }

  /// The bytes in about sixteen pieces of lengths that follow from `seed`, each in memory of its own.
  public static func pieces(_ bytes: [UInt8], seed: UInt8) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var (start, state) = (0, UInt32(seed) &* 2_654_435_761 | 1)
    while start < bytes.count {
      state = state &* 1_664_525 &+ 1_013_904_223
      // After a dozen the rest comes in few: more cuts cost time and show nothing new.
      let longest = pieces.count < 12 ? 1 + Int(seed) % 40 : bytes.count / 2
      let end = min(bytes.count, start + 1 + Int(state >> 16) % longest)
      pieces.append(Array(bytes[start..<end]))
      start = end
    }
    return pieces
  }
}

public func promise(_ holds: Bool, _ words: StaticString) {
  if !holds { cfuzzer_broken("\(words)") }
}

/// What is written is JSON, and the same when it is written again; of fractions not every digit is kept.
public func promiseRoundTrip(_ json: JSON) {
  let text = json.text
  let again = JSON(parsing: Array(text.utf8))
  promise(again != nil, "what is written is JSON")
  promise(again?.text == text || text.contains("."), "JSON is the same when it is written again")
}

private nonisolated(unsafe) var chosen: (@Sendable ([UInt8]) -> Void)?

/// Runs the target that the program is called by (`fuzz-list` is a link to a program), or tells those there are.
public func fuzz(_ targets: [String: @Sendable ([UInt8]) -> Void]) {
  let name = CommandLine.arguments[0].split(separator: "/").last?.split(separator: "-").last.map(String.init) ?? ""
  guard let target = targets[name] else { return print(targets.keys.sorted().joined(separator: "\n")) }
  chosen = target
  _ = cfuzzer_run(CommandLine.argc, CommandLine.unsafeArgv) { bytes, count in
    chosen?(Array(UnsafeBufferPointer(start: bytes, count: count)))
  }
}
