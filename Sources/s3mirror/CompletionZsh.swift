// The completion for zsh(1).
import MirrorDaemon

extension CompletionCommand {
  static var zsh: String {
    var text = """
      #compdef s3mirror
      # zsh completion for s3mirror. \(note).

      _s3mirror_mounts() {
        local -a points
        points=(${(f)"$(awk '$3 == "fuse.s3mirror" { print $2 }' /proc/self/mounts 2>/dev/null)"})
        compadd -a points
      }

      _s3mirror_places() {
        local -a names
        names=(${(f)"$(sed -nE 's/^[[:space:]]*\\[mount[[:space:]]+"([^"]*)"\\].*/\\1/p' /etc/s3mirror.conf \\
          "${XDG_CONFIG_HOME:-$HOME/.config}/s3mirror/s3mirror.conf" 2>/dev/null)"})
        compadd -a names
        _files -/
      }

      _s3mirror() {
        local -a commands
        commands=(

      """
    for command in Command.all { text += "    '\(command.name):\(quoted(command.summary))'\n" }
    text += """
        )
        if ((CURRENT == 2)); then
          _describe 'command' commands
          return
        fi
        local command=$words[2]
        shift words
        ((CURRENT--))
        case $command in

      """
    for command in Command.all { text += zsh(command) }
    return text + """
        esac
      }

      _s3mirror "$@"

      """
  }

  private static func zsh(_ command: Command) -> String {
    let aliases = Command.aliases.filter { $0.value == command.name }.map(\.key).sorted()
    var lines = items(command).map(zsh)
    if let words = subcommands[command.name] { lines.append("'1:word:(\(words.joined(separator: " ")))'") }
    switch command.name {
    case "unmount", "status", "top", "metrics", "keys", "cost": lines.append("'*:mount point:_s3mirror_mounts'")
    case "mount", "config", "doctor": lines.append("'*:place:_s3mirror_places'")
    default: lines.append("'*:file:_files'")
    }
    return "    \(([command.name] + aliases).joined(separator: " | ")))\n      _arguments \\\n"
      + lines.map { "        \($0)" }.joined(separator: " \\\n") + "\n      ;;\n"
  }

  private static func zsh(_ item: Item) -> String {
    let repeated = MountOption.all.contains { $0.name == item.name && $0.mayBeRepeated } ? "*" : ""
    guard let placeholder = item.placeholder else { return "'--\(item.name)[\(quoted(item.meaning))]'" }
    let known = values(placeholder)
    let action =
      if !known.isEmpty {
        "(\(known.joined(separator: " ")))"
      } else if placeholder == "DIR" {
        "_files -/"
      } else if placeholder == "FILE" {
        "_files"
      } else {
        " "
      }
    let name = placeholder.split(whereSeparator: { "[]:".contains($0) }).joined(separator: " ")
    return "'\(repeated)--\(item.name)[\(quoted(item.meaning))]:\(name):\(action)'"
  }

  /// In single quotes, and in brackets.
  private static func quoted(_ text: String) -> String {
    text.map { character in
      switch character {
      case "'": "'\\''"
      case "[", "]", ":": "\\\(character)"
      default: String(character)
      }
    }.joined()
  }
}
