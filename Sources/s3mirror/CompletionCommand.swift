// `completion`: what a shell needs to complete commands and options, made of the tables that help is made of.
import MirrorDaemon
import MirrorPlatform

enum CompletionCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "completion")
    switch String(decoding: try words.one("the shell", of: "completion"), as: UTF8.self) {
    case "bash": emit(bash)
    case "zsh": emit(zsh)
    case "fish": emit(fish)
    case let other:
      throw CommandFailure(.usage, "there is no completion for '\(other)'; it is bash, zsh or fish")
    }
    return .done
  }

  /// An option of a command, as a shell sees it.
  struct Item: Sendable {
    let name: String
    /// Nil for a flag.
    let placeholder: String?
    let meaning: String
  }

  static func items(_ command: Command) -> [Item] {
    if command.takesMountOptions {
      return MountOption.all.map { Item(name: $0.name, placeholder: $0.placeholder, meaning: $0.help) }
    }
    return command.options.map { option, meaning in
      let words = option.split(separator: " ", maxSplits: 1).map(String.init)
      return Item(
        name: String(words[0].dropFirst(2)), placeholder: words.count == 2 ? words[1] : nil, meaning: meaning)
    }
  }

  /// The first words after some commands.
  static let subcommands: [String: [String]] = [
    "cache": CacheCommand.words, "config": ConfigCommand.actions, "completion": ["bash", "zsh", "fish"],
    "debug": ["bundle"], "seed": ["create"], "log-level": Log.Level.allCases.map(\.name),
    "help": Command.all.map(\.name),
  ]

  /// The values of an option, where they are few.
  static func values(_ placeholder: String) -> [String] {
    switch placeholder {
    case "LEVEL": Log.Level.allCases.map(\.name)
    case "WAY": ["cached", "passthrough"]
    case "LIFETIME", "[GLOB=]LIFETIME[,NAME=VALUE]": ["always", "forever", "origin", "60s", "15m", "1h"]
    default: placeholder.contains("|") ? placeholder.split(separator: "|").map(String.init) : []
    }
  }

  static let note = "Made by 's3mirror completion', of the tables that help is made of"
}
