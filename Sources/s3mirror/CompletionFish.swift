// The completion for fish(1).
import MirrorDaemon

extension CompletionCommand {
  static var fish: String {
    var text = """
      # fish completion for s3mirror. \(note).

      function __s3mirror_mounts
          string match -rg '^\\S+ (\\S+) fuse\\.s3mirror ' </proc/self/mounts
      end

      function __s3mirror_sections
          set -l config $XDG_CONFIG_HOME
          test -n "$config"; or set config $HOME/.config
          for file in /etc/s3mirror.conf $config/s3mirror/s3mirror.conf
              test -r $file; and string match -rg '^\\s*\\[mount\\s+"([^"]*)"\\]' <$file
          end
      end

      complete -c s3mirror -f

      """
    for command in Command.all {
      text +=
        "complete -c s3mirror -n __fish_use_subcommand -a \(command.name) -d '\(quotedForFish(command.summary))'\n"
    }
    for command in Command.all { text += "\n" + fish(command) }
    return text
  }

  private static func fish(_ command: Command) -> String {
    let aliases = Command.aliases.filter { $0.value == command.name }.map(\.key).sorted()
    let head =
      "complete -c s3mirror -n '__fish_seen_subcommand_from \(([command.name] + aliases).joined(separator: " "))'"
    var text = ""
    if let words = subcommands[command.name] { text += "\(head) -a '\(words.joined(separator: " "))'\n" }
    switch command.name {
    case "unmount", "status", "top", "metrics", "keys", "cost": text += "\(head) -a '(__s3mirror_mounts)'\n"
    case "mount", "config", "doctor":
      text += "\(head) -a '(__s3mirror_sections)'\n\(head) -a '(__fish_complete_directories)'\n"
    case "refresh", "warm", "explain", "cache": text += "\(head) -F\n"
    default: break
    }
    for item in items(command) {
      text += "\(head) -l \(item.name)"
      if let placeholder = item.placeholder {
        let known = values(placeholder)
        if !known.isEmpty {
          text += " -x -a '\(known.joined(separator: " "))'"
        } else if placeholder == "DIR" {
          text += " -x -a '(__fish_complete_directories)'"
        } else {
          text += placeholder == "FILE" ? " -r -F" : " -x"
        }
      }
      text += " -d '\(quotedForFish(item.meaning))'\n"
    }
    return text
  }

  private static func quotedForFish(_ text: String) -> String {
    text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
  }
}
