// `config show`: the value of each option that holds, and where it comes from.
import MirrorCore
public import MirrorPlatform

public struct ConfigurationReport: Sendable {
  private struct Row: Sendable {
    let name: String
    /// Nil: not set.
    let value: String?
    let origin: String
    var place: ConfigurationPlace?
  }

  private let files: [String]
  private let mount: String?
  private let rows: [Row]

  /// Throws what is wrong with the configuration, or that there is no such mount.
  public init(_ configuration: Configuration, mount: String?) throws(CommandFailure) {
    _ = try configuration.check(for: mount)
    var rows: [Row] = []
    var given = configuration.general
    if let mount {
      guard let section = configuration.mount(mount) else {
        let hint = suggestion(for: mount, among: configuration.mounts)
        throw CommandFailure(
          .usage,
          "no configuration file has a section [mount \"\(mount)\"]"
            + (hint.isEmpty ? "; see 's3mirror config check'" : hint))
      }
      given += section.options
      for (name, words) in [("source", section.source), ("mountpoint", section.mountPoint)] {
        guard let words else { continue }
        rows.append(Row(name: name, value: words.text, origin: "\(words.place)", place: words.place))
      }
    }
    let effective = given.effective()
    for option in MountOption.all where option.name != "config" {
      rows += Self.rows(option, effective.filter { $0.option.name == option.name })
    }
    self.rows = rows
    self.mount = mount
    files = configuration.paths
  }

  private static func rows(_ option: MountOption, _ given: [GivenOption]) -> [Row] {
    var rows = given.map { given in
      Row(
        name: option.name, value: withoutSecrets(given.value), origin: given.place.map { "\($0)" } ?? "",
        place: given.place)
    }
    let isDecided: Bool
    switch option.joins {
    case .rules: isDecided = given.contains { FreshnessRules.isForAll($0.value) == true }
    default: isDecided = !given.isEmpty
    }
    if isDecided { return rows }
    for variable in variables[option.name] ?? [] {
      guard let value = ThisProcess.environment(variable) else { continue }
      return rows + [Row(name: option.name, value: withoutSecrets(value), origin: "environment \(variable)")]
    }
    let otherwise = option.otherwise ?? (option.placeholder == nil ? "no" : nil)
    rows.append(Row(name: option.name, value: otherwise, origin: otherwise == nil ? "not set" : "built in"))
    return rows
  }

  /// What stands for an option where it is not given.
  private static let variables = [
    "endpoint-url": ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"], "region": ["AWS_REGION", "AWS_DEFAULT_REGION"],
    "profile": ["AWS_PROFILE"], "ca-bundle": ["AWS_CA_BUNDLE"],
  ]

  /// A URL may hold a name and a password: `https://name:password@host`.
  private static func withoutSecrets(_ value: String) -> String {
    guard let scheme = value.range(of: "://") else { return value }
    let rest = value[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    guard let at = rest[..<end].lastIndex(of: "@") else { return value }
    return value[..<scheme.upperBound] + "***" + rest[at...]
  }

  public var text: String {
    let width = 2 + (rows.map(\.name.count).max() ?? 0)
    let values = 2 + (rows.map { min(($0.value ?? "").count, 34) }.max() ?? 0)
    let head = files.isEmpty ? "no configuration file" : files.joined(separator: ", ")
    return "# \(head)\n" + (mount.map { "[mount \"\($0)\"]\n" } ?? "[general]\n")
      + rows.map { padded($0.name, to: width) + padded($0.value ?? "-", to: values) + " " + $0.origin + "\n" }.joined()
  }

  public var json: JSON {
    .object([
      ("files", .array(files.map { .string($0) })), ("mount", mount.map { .string($0) } ?? .null),
      (
        "options",
        .array(
          rows.map { row in
            .object([
              ("name", .string(row.name)), ("value", row.value.map { .string($0) } ?? .null),
              ("origin", .string(row.place == nil ? row.origin : "file")),
              ("file", row.place.map { .string($0.file) } ?? .null),
              ("line", row.place.map { .int(Int64($0.line)) } ?? .null),
            ])
          })
      ),
    ])
  }
}
