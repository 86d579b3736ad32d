// `config`: checks, shows and drafts the configuration file.
import MirrorDaemon
import MirrorPlatform

enum ConfigCommand {
  static let details =
    "check   reads FILE, or the files that a mount would read, and tells every mistake\n"
    + "show    what holds for all mounts, or for the mount NAME, and where each value comes from\n"
    + "sample  a file with every key, commented out, to begin from"

  static let options = [
    ("--config FILE", "for show: read this file in place of the usual ones"),
    ("--json", "for show: one object for scripts"),
  ]

  static let actions = ["check", "show", "sample"]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "config", flags: ["json"], values: ["config"])
    let names = words.positionals.map { String(decoding: $0, as: UTF8.self) }
    guard let action = names.first else {
      throw CommandFailure(.usage, "say what about the configuration: check, show or sample")
    }
    guard names.count <= (action == "sample" ? 1 : 2) else {
      throw CommandFailure(.usage, "too many arguments; see 's3mirror help config'")
    }
    let argument = names.count == 2 ? names[1] : nil
    switch action {
    case "check": return try check(argument ?? words.values["config"])
    case "show":
      let report = try ConfigurationReport(try Configuration(file: words.values["config"]), mount: argument)
      emit(words.flags.contains("json") ? report.json.text + "\n" : report.text)
      return .done
    case "sample":
      emit(ConfigurationSample.text)
      return .done
    default:
      let hint = suggestion(for: action, among: actions)
      throw CommandFailure(
        .usage, "there is no 'config \(action)'" + (hint.isEmpty ? "; it is check, show or sample" : hint))
    }
  }

  private static func check(_ file: String?) throws(CommandFailure) -> ExitCode {
    let configuration = try Configuration(file: file)
    for problem in configuration.problems { emit("s3mirror: \(problem)\n", toErrors: true) }
    if !configuration.problems.isEmpty { return .usage }
    let paths = configuration.paths
    guard !paths.isEmpty else {
      emit("there is no configuration file; 's3mirror config sample' prints one to begin from\n")
      return .done
    }
    let mounts = configuration.mounts
    let names = mounts.isEmpty ? "no mounts" : "mounts: \(mounts.joined(separator: ", "))"
    emit("\(paths.joined(separator: ", ")): no mistakes, \(names)\n")
    return .done
  }
}
