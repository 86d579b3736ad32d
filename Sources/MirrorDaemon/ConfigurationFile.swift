// Reads one configuration file, s3mirror.conf(5): sections, keys and values, and every mistake with its line.
import MirrorPlatform

/// A mistake: where it is, and what was meant.
public struct ConfigurationProblem: Sendable, CustomStringConvertible {
  let place: ConfigurationPlace
  /// The section of a mount that it lies in; nil: it concerns every mount.
  let section: String?
  let text: String
  public var description: String { "\(place): \(text)" }
}

/// `[general]`, or `[mount "NAME"]`.
struct ConfigurationSection: Sendable {
  struct Words: Sendable {
    let text: String
    let place: ConfigurationPlace
  }
  /// Nil: for all mounts.
  let name: String?
  let place: ConfigurationPlace
  var source: Words?
  var mountPoint: Words?
  var options: [GivenOption] = []
}

struct ConfigurationFile: Sendable {
  let path: String
  private(set) var sections: [ConfigurationSection]
  private(set) var problems: [ConfigurationProblem] = []
  private var line = 0

  init(path: String, bytes: [UInt8]) {
    self.path = path
    sections = [ConfigurationSection(name: nil, place: ConfigurationPlace(file: path, line: 1))]
    for bytes in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      line += 1
      guard let text = String(validating: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self) else {
        note("this is not UTF-8")
        continue
      }
      take(ConfigurationLine(line == 1 ? text.drop { $0 == "\u{FEFF}" } : text[...]))
    }
  }

  private var place: ConfigurationPlace { ConfigurationPlace(file: path, line: line) }
  private var current: ConfigurationSection { sections[sections.count - 1] }

  private mutating func note(_ text: String) {
    problems.append(ConfigurationProblem(place: place, section: current.name, text: text))
  }

  private mutating func take(_ line: ConfigurationLine) {
    switch line {
    case .nothing: break
    case .problem(let text): note(text)
    case .section(let name): begin(name)
    case .entry(let key, let value): enter(key, value)
    }
  }

  private mutating func begin(_ name: String?) {
    if let name, let first = sections.first(where: { $0.name == name }) {
      note("the section [mount \"\(name)\"] was begun on line \(first.place.line) already; join the two")
    }
    sections.append(ConfigurationSection(name: name, place: place))
  }

  private mutating func enter(_ written: String, _ value: String?) {
    let key = String(written.map { $0 == "_" ? "-" : $0 })
    switch key {
    case "source": place(value, key, \.source)
    case "mountpoint": place(value, key, \.mountPoint)
    case "config": note("a configuration file can't name another one; '--config' on the command line does")
    default:
      if let option = MountOption.named(key) { give(option, key, value) } else { note(unknown(written, key)) }
    }
  }

  private mutating func place(
    _ value: String?, _ key: String, _ field: WritableKeyPath<ConfigurationSection, ConfigurationSection.Words?>
  ) {
    guard current.name != nil else {
      return note("'\(key)' belongs to one mount: write it below a line [mount \"NAME\"]")
    }
    guard let value, !value.isEmpty else { return note("'\(key)' needs a value: \(key) = …") }
    if let first = current[keyPath: field] {
      return note("'\(key)' is given on line \(first.place.line) already")
    }
    var text = value
    if key == "source" {
      do throws(CommandFailure) { _ = try Source(parsing: value) } catch { return note(error.message) }
    } else {
      guard let path = Self.path(value) else { return note(Self.relative(key, value)) }
      text = path
    }
    sections[sections.count - 1][keyPath: field] = .init(text: text, place: place)
  }

  private mutating func give(_ option: MountOption, _ key: String, _ value: String?) {
    var value = value
    if option.placeholder == nil {
      guard let flag = Self.flag(value) else { return note("'\(key)' is yes or no, not '\(value ?? "")'") }
      value = flag ? "yes" : "no"
    }
    guard var text = value, !text.isEmpty else {
      return note("'\(key)' needs a value: \(key) = \(option.placeholder ?? "")")
    }
    if option.isPath {
      guard let path = Self.path(text) else { return note(Self.relative(key, text)) }
      text = path
    }
    if !option.mayBeRepeated, let first = current.options.first(where: { $0.option.name == option.name }) {
      return note("'\(key)' is given on line \(first.place?.line ?? 0) already, and may stand there once")
    }
    let given = GivenOption(
      option: option, value: text, level: current.name == nil ? .general : .section, spelling: key, place: place)
    var scratch = MountSettings(source: .none, mountPoint: "/")
    do throws(CommandFailure) { try given.apply(to: &scratch) } catch {
      let said = error.message.dropFirst("\(place): ".count)
      return note(String(said))
    }
    sections[sections.count - 1].options.append(given)
  }

  /// Nil for what is neither.
  static func flag(_ value: String?) -> Bool? {
    switch value?.lowercased() {
    case nil, "yes", "true", "on", "1": true
    case "no", "false", "off", "0": false
    default: nil
    }
  }

  /// From the root, or from home; nil for a relative one.
  private static func path(_ text: String) -> String? {
    if text.hasPrefix("/") { return text }
    guard text.hasPrefix("~/"), let home = ThisProcess.home else { return nil }
    return home + text.dropFirst()
  }

  private static func relative(_ key: String, _ value: String) -> String {
    "'\(key) = \(value)': in a file a path begins with '/' or '~/', for there is no directory to begin from"
  }

  /// Never repeats a value: it may be a secret.
  private func unknown(_ written: String, _ key: String) -> String {
    let plain = key.drop { $0 == "-" }
    if key.hasPrefix("-"), MountOption.named(String(plain)) != nil {
      return "write '\(plain)' without the dashes: \(plain) = …"
    }
    if key.contains("secret") || key.contains("access-key") || key.contains("session-token") {
      return "'\(written)': credentials are not kept here; put them into ~/.aws/credentials and name the 'profile'"
    }
    let hint = suggestion(for: key, among: MountOption.all.map(\.name) + ["source", "mountpoint"])
    return "there is no key '\(written)'" + (hint.isEmpty ? "; see s3mirror.conf(5)" : hint)
  }
}
