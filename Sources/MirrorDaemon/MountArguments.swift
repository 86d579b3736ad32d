// Reads the arguments of `mount`: options and positionals in any order, and mount(8)'s comma lists.
import MirrorPlatform

/// What the arguments ask for.
public enum MountInvocation: Sendable {
  case mount(MountSettings)
  case help
}

/// What mount(8), fstab(5) and fuse(8) say about any file system; what they ask for holds anyway, or is not ours.
private let genericOptions: Set<String> = [
  "_netdev", "nofail", "noauto", "auto", "user", "users", "nouser", "owner", "group", "defaults", "ro", "rw", "nosuid",
  "suid", "nodev", "dev", "exec", "noatime", "atime", "relatime", "norelatime", "nodiratime", "diratime",
  "strictatime", "nostrictatime", "lazytime", "nolazytime", "async", "sync", "dirsync", "mand", "nomand", "silent",
  "loud", "iversion", "noiversion", "nosymfollow", "default_permissions", "comment", "auto_unmount", "nonempty",
]

/// Reads all arguments after `mount`.
public func parseMountArguments(_ arguments: [[UInt8]]) throws(CommandFailure) -> MountInvocation {
  var reader = MountArguments()
  var rest = arguments[...]
  var onlyPositionals = false
  while let bytes = rest.popFirst() {
    guard let argument = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(.usage, "argument '\(String(decoding: bytes, as: UTF8.self))' is not UTF-8")
    }
    if onlyPositionals || !argument.hasPrefix("-") || argument == "-" {
      reader.request.positionals.append(argument)
    } else if argument == "--" {
      onlyPositionals = true
    } else if argument == "--help" || argument == "-h" {
      return .help
    } else if argument.hasPrefix("--") {
      try reader.long(argument.dropFirst(2), rest: &rest)
    } else {
      try reader.short(argument, rest: &rest)
    }
  }
  reader.request.complete()
  return .mount(try reader.request.settings())
}

private struct MountArguments {
  var request = MountRequest()

  /// `--name`, `--name=value`, `--name value`.
  mutating func long(_ text: Substring, rest: inout ArraySlice<[UInt8]>) throws(CommandFailure) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let option = try known(name, spelling: "--\(name)", prefix: "--")
    var value = parts.count == 2 ? String(parts[1]) : nil
    if option.placeholder != nil, value == nil {
      guard let next = rest.popFirst() else {
        throw CommandFailure(.usage, "option '--\(name)' needs a value: --\(name) \(option.placeholder ?? "")")
      }
      value = String(decoding: next, as: UTF8.self)
    }
    try add(option, spelling: "--\(name)", value: value)
  }

  mutating func short(_ argument: String, rest: inout ArraySlice<[UInt8]>) throws(CommandFailure) {
    if argument == "-f", let option = MountOption.named("foreground") {
      try add(option, spelling: "-f", value: nil)
    } else if argument.hasPrefix("-o") {
      var list = String(argument.dropFirst(2))
      if list.isEmpty {
        guard let next = rest.popFirst() else {
          throw CommandFailure(.usage, "option '-o' needs a value: -o NAME[=VALUE],…")
        }
        list = String(decoding: next, as: UTF8.self)
      }
      for item in split(list) where !item.isEmpty { try listed(item) }
    } else {
      throw CommandFailure(.usage, "unknown option '\(argument)'; see 's3mirror help mount'")
    }
  }

  /// One item of a comma list: our own option, with `-` or `_`, or one that means nothing here.
  private mutating func listed(_ item: String) throws(CommandFailure) {
    let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let written = String(parts[0])
    let name = String(written.map { $0 == "_" ? "-" : $0 })
    if name.hasPrefix("x-") || name.hasPrefix("X-") || genericOptions.contains(written) { return }
    if written == "noexec" {
      request.noExecute = true
      return
    }
    let option = try known(name, spelling: "-o \(written)", prefix: "-o ")
    try add(option, spelling: "-o \(written)", value: parts.count == 2 ? String(parts[1]) : nil)
  }

  private func known(_ name: String, spelling: String, prefix: String) throws(CommandFailure) -> MountOption {
    if let option = MountOption.named(name) { return option }
    let hint = suggestion(for: name, among: MountOption.all.map(\.name), prefix: prefix)
    throw CommandFailure(
      .usage, "unknown option '\(spelling)'" + (hint.isEmpty ? "; see 's3mirror help mount'" : hint))
  }

  private mutating func add(_ option: MountOption, spelling: String, value: String?) throws(CommandFailure) {
    let level = spelling.hasPrefix("-o") ? OptionLevel.list : .commandLine
    if option.placeholder == nil {
      // An answer of its own takes back what a configuration file says.
      guard value == nil || value == "yes" || value == "no" else {
        throw CommandFailure(.usage, "option '\(spelling)' takes no value but 'yes' or 'no'")
      }
    } else if value?.isEmpty ?? true {
      throw CommandFailure(.usage, "option '\(spelling)' needs a value (\(option.placeholder ?? ""))")
    }
    // From the root: the daemon has another working directory.
    let text = value.map { option.isPath ? absolutePath($0) : $0 }
    request.options.append(GivenOption(option: option, value: text ?? "yes", level: level, spelling: spelling))
  }

  /// Splits at commas; `\,` is a comma of the value, as in libfuse.
  private func split(_ list: String) -> [String] {
    var items = [""]
    var escaped = false
    for character in list {
      if escaped || (character != "," && character != "\\") {
        items[items.count - 1].append(character)
        escaped = false
      } else if character == "\\" {
        escaped = true
      } else {
        items.append("")
      }
    }
    return items
  }
}
