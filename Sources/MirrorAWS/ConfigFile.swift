// The INI dialect of the AWS configuration files, read into plain values.

/// Sections of a shared config or credentials file; text that makes no sense is passed over, as the SDKs do.
public struct ConfigFile: Hashable, Sendable {
  /// A section's values; those of a nested block (`s3 =` and indented lines) under `s3.name`.
  public typealias Section = [String: String]

  /// By kind and name: `profile dev`, `services local`, or the bare name.
  public private(set) var sections: [String: Section] = [:]

  public init() {}

  public init(parsing text: String) {
    var section: String?
    var block: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let isIndented = line.first == " " || line.first == "\t"
      let content = Self.withoutComment(Self.trimmed(line))
      guard let first = content.first, first != "#", first != ";" else { continue }
      if first == "[" {
        section = content.lastIndex(of: "]").map { Self.name(content[content.index(after: content.startIndex)..<$0]) }
        block = nil
        if let section { sections[section, default: [:]] = sections[section] ?? [:] }
        continue
      }
      guard let section, let equals = content.firstIndex(of: "=") else { continue }
      let key = Self.trimmed(content[..<equals]).lowercased()
      let value = String(Self.trimmed(content[content.index(after: equals)...]))
      if isIndented, let block {
        sections[section]?["\(block).\(key)"] = value
      } else {
        block = value.isEmpty ? key : nil
        if !value.isEmpty { sections[section]?[key] = value }
      }
    }
  }

  /// `profile "a b"` and `profile   a` are `profile a b` and `profile a`.
  private static func name(_ text: Substring) -> String {
    text.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ").filter { $0 != "\"" && $0 != "'" }
  }

  /// A comment inside a line begins with a blank and `#` or `;`.
  private static func withoutComment(_ line: Substring) -> Substring {
    var previous: Character = "x"
    for index in line.indices {
      let character = line[index]
      if character == "#" || character == ";", previous == " " || previous == "\t" { return trimmed(line[..<index]) }
      previous = character
    }
    return line
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (character: Character) in character == " " || character == "\t" || character == "\r" }
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }
}
