// The arguments of every command but `mount`: a few flags, perhaps a value, and positionals.
import MirrorDaemon

struct Words {
  private(set) var positionals: [[UInt8]] = []
  private(set) var flags: Set<String> = []
  /// The last of each.
  private(set) var values: [String: String] = [:]
  /// All of each, for those that may be repeated.
  private(set) var lists: [String: [String]] = [:]

  init(_ arguments: [[UInt8]], of command: String, flags known: [String] = [], values valued: [String] = [])
    throws(CommandFailure)
  {
    var rest = arguments[...]
    var onlyPositionals = false
    while let bytes = rest.popFirst() {
      let word = String(decoding: bytes, as: UTF8.self)
      if onlyPositionals || !word.hasPrefix("-") || word == "-" {
        positionals.append(bytes)
        continue
      }
      if word == "--" {
        onlyPositionals = true
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = String(parts[0].drop { $0 == "-" })
      if word.hasPrefix("--"), known.contains(name), parts.count == 1 {
        flags.insert(name)
      } else if word.hasPrefix("--"), valued.contains(name) {
        let value = parts.count == 2 ? parts[1] : rest.popFirst().map { String(decoding: $0, as: UTF8.self) }
        guard let value, !value.isEmpty else { throw CommandFailure(.usage, "option '--\(name)' needs a value") }
        values[name] = value
        lists[name, default: []].append(value)
      } else {
        let hint = suggestion(for: name, among: known + valued, prefix: "--")
        throw CommandFailure(
          .usage, "unknown option '\(word)'" + (hint.isEmpty ? "; see 's3mirror help \(command)'" : hint))
      }
    }
  }

  /// The one positional there must be.
  func one(_ what: String, of command: String) throws(CommandFailure) -> [UInt8] {
    guard positionals.count == 1, let word = positionals.first, !word.isEmpty else {
      throw CommandFailure(
        .usage,
        positionals.count > 1
          ? "too many arguments; see 's3mirror help \(command)'" : "\(what) is missing; see 's3mirror help \(command)'")
    }
    return word
  }
}
