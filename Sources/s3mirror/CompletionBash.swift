// The completion for bash(1).
import MirrorDaemon

extension CompletionCommand {
  static var bash: String {
    var text = """
      # bash completion for s3mirror. \(note).

      _s3mirror_mounts() {
        awk '$3 == "fuse.s3mirror" { print $2 }' /proc/self/mounts 2>/dev/null
      }

      _s3mirror_sections() {
        sed -nE 's/^[[:space:]]*\\[mount[[:space:]]+"([^"]*)"\\].*/\\1/p' /etc/s3mirror.conf \\
          "${XDG_CONFIG_HOME:-$HOME/.config}/s3mirror/s3mirror.conf" 2>/dev/null
      }

      _s3mirror() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W "\(Command.all.map(\.name).joined(separator: " "))" -- "$current")
          return
        fi

      """
    text += "  case $command in\n"
    for command in Command.all { text += bash(command) }
    text += """
        esac
      }

      complete -o filenames -o bashdefault -F _s3mirror s3mirror

      """
    return text
  }

  private static func bash(_ command: Command) -> String {
    let items = items(command)
    let words = subcommands[command.name] ?? []
    let aliases = Command.aliases.filter { $0.value == command.name }.map(\.key).sorted()
    var text = "    \(([command.name] + aliases).joined(separator: " | ")))\n"
    let valued = items.filter { $0.placeholder != nil }
    if !valued.isEmpty {
      text += "      case $previous in\n"
      for item in valued { text += bash(item) }
      text += "      esac\n"
    }
    let options = items.map { "--\($0.name)" }.joined(separator: " ")
    text += """
            if [[ $current == -* ]]; then
              mapfile -t COMPREPLY < <(compgen -W "\(options)\(options.isEmpty ? "" : " ")--help" -- "$current")

      """
    if !words.isEmpty {
      text += """
              elif ((COMP_CWORD == 2)); then
                mapfile -t COMPREPLY < <(compgen -W "\(words.joined(separator: " "))" -- "$current")

        """
    }
    switch command.name {
    case "unmount", "status", "top", "metrics", "keys", "cost":
      text += """
              else
                mapfile -t COMPREPLY < <(compgen -W "$(_s3mirror_mounts)" -- "$current")

        """
    case "mount", "config", "doctor":
      text += """
              else
                mapfile -t COMPREPLY < <(compgen -W "$(_s3mirror_sections)" -- "$current"; compgen -d -- "$current")

        """
    default:
      text += """
              else
                mapfile -t COMPREPLY < <(compgen -f -- "$current")

        """
    }
    return text + "      fi\n      ;;\n"
  }

  private static func bash(_ item: Item) -> String {
    let placeholder = item.placeholder ?? ""
    let known = values(placeholder)
    let made =
      if !known.isEmpty {
        "compgen -W \"\(known.joined(separator: " "))\" -- \"$current\""
      } else if placeholder == "DIR" {
        "compgen -d -- \"$current\""
      } else if placeholder == "FILE" {
        "compgen -f -- \"$current\""
      } else {
        ""
      }
    return made.isEmpty
      ? "        --\(item.name)) return ;;\n"
      : "        --\(item.name)) mapfile -t COMPREPLY < <(\(made)); return ;;\n"
  }
}
