// One line of a configuration file: a section, a key with its value, or nothing.

enum ConfigurationLine: Equatable {
  case nothing
  /// Nil: `[general]`.
  case section(String?)
  /// No value: a key alone.
  case entry(String, String?)
  case problem(String)

  init(_ line: Substring) {
    let text = Self.trimmed(line)
    if text.isEmpty || text.first == "#" || text.first == ";" {
      self = .nothing
    } else if text.first == "[" {
      self = Self.section(text)
    } else {
      self = Self.entry(text)
    }
  }

  private static func section(_ text: Substring) -> ConfigurationLine {
    let form = "a section is [general] or [mount \"NAME\"]"
    let rest = withoutComment(text)
    guard rest.last == "]" else { return .problem("\(form); here the ']' is missing") }
    let words = trimmed(rest.dropFirst().dropLast())
    if words == "general" { return .section(nil) }
    let first = words.prefix { $0 != " " && $0 != "\t" && $0 != "\"" }
    let name = trimmed(words.dropFirst(first.count))
    let plain = name.filter { $0 != "\"" && $0 != "'" }
    guard first == "mount" else {
      let hint = suggestion(for: String(first), among: ["general", "mount"])
      return .problem(form + (hint.isEmpty ? "; did you mean [mount \"\(words)\"]?" : hint))
    }
    guard name.count > 2, name.first == "\"", name.last == "\"", plain.count == name.count - 2 else {
      return .problem(form + (plain.isEmpty ? "; here the NAME is missing" : "; did you mean [mount \"\(plain)\"]?"))
    }
    guard !plain.contains("/") else {
      return .problem("'\(plain)': the name of a mount has no '/'; 'source' and 'mountpoint' say what and where")
    }
    return .section(plain)
  }

  private static func entry(_ text: Substring) -> ConfigurationLine {
    let key = text.prefix { $0 != "=" && $0 != " " && $0 != "\t" && $0 != ":" }
    let rest = trimmed(text.dropFirst(key.count))
    if key.isEmpty { return .problem("a line is KEY = VALUE; here the KEY is missing") }
    if rest.isEmpty || rest.first == "#" { return .entry(String(key), nil) }
    guard rest.first == "=" else { return .problem("a line is KEY = VALUE; did you mean '\(key) = …'?") }
    let value = trimmed(rest.dropFirst())
    if value.first == "\"" { return quoted(String(key), value) }
    return .entry(String(key), String(withoutComment(value)))
  }

  /// `"…"`, in which `\"` and `\\` stand for `"` and `\`.
  private static func quoted(_ key: String, _ text: Substring) -> ConfigurationLine {
    var value = ""
    var rest = text.dropFirst()
    while let next = rest.popFirst() {
      if next == "\"" {
        return withoutComment(rest).isEmpty
          ? .entry(key, value) : .problem("after the closing '\"' nothing more is expected")
      }
      if next == "\\", let escaped = rest.first, escaped == "\"" || escaped == "\\" {
        value.append(rest.removeFirst())
      } else {
        value.append(next)
      }
    }
    return .problem("the closing '\"' is missing")
  }

  /// Up to a `#` that stands after a space, or first.
  private static func withoutComment(_ text: Substring) -> Substring {
    var before: Character = " "
    for index in text.indices {
      if text[index] == "#", before == " " || before == "\t" { return trimmed(text[..<index]) }
      before = text[index]
    }
    return trimmed(text)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
