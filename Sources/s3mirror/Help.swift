// The help texts, made of the tables of commands and options.
import MirrorDaemon
import MirrorPlatform

enum Help {
  static var overview: String {
    let rows = Command.all.map { "  \(padded($0.name, to: 9)) \($0.summary)\n" }.joined()
    return "s3mirror shows an S3 bucket as read-only files, cached and kept fresh.\n\n"
      + "usage: s3mirror COMMAND ...\n\n\(rows)\n"
      + "'s3mirror help COMMAND' tells more; so do s3mirror(1) and s3mirror(7).\n"
  }

  static func text(of command: Command) -> String {
    var text = "usage: s3mirror \(command.name) \(command.usage)\n\n\(command.summary)\n"
    if !command.details.isEmpty { text += "\n\(command.details)\n" }
    let options = command.name == "mount" ? mountOptions : command.options
    if !options.isEmpty { text += "\n" + options.map { row($0.0, $0.1) }.joined() }
    return text
  }

  private static var mountOptions: [(String, String)] {
    MountOption.all.map { option in
      ("--\(option.name)" + (option.placeholder.map { " \($0)" } ?? ""), option.help)
    }
  }

  /// The option, and its meaning beside or below it, 80 columns wide.
  private static func row(_ option: String, _ meaning: String) -> String {
    let indent = 28
    var lines: [String] = []
    var line = ""
    for word in meaning.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > 80 {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
    let blank = String(repeating: " ", count: indent)
    let head = option.count + 3 > indent ? "  \(option)\n\(blank)" : padded("  \(option)", to: indent)
    return head + lines.joined(separator: "\n\(blank)") + "\n"
  }
}
