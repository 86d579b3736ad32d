// `mount`, and the two ways in which mount(8) calls it.
import MirrorDaemon
import MirrorPlatform

enum MountCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    switch try parseMountArguments(arguments) {
    case .help:
      if let command = Command.named("mount") { emit(Help.text(of: command)) }
      return .done
    case .mount(let settings): return try start(settings)
    }
  }

  private static func start(_ settings: MountSettings) throws(CommandFailure) -> ExitCode {
    if let report = ReadinessReport.owed() {
      // The process that started this one prints what goes wrong.
      do throws(CommandFailure) { try MountLife(settings, report: report).run() } catch { return error.code }
      return .done
    }
    for warning in settings.warnings { emit("s3mirror: warning: \(warning)\n", toErrors: true) }
    if settings.foreground {
      try MountLife(settings, report: .unread).run()
    } else {
      try ReadinessReport.startDetached()
    }
    return .done
  }

  /// `mount.s3mirror SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]` (mount(8), external helpers).
  static func runForMount(_ arguments: [[UInt8]]) throws(CommandFailure) -> ExitCode {
    var words: [[UInt8]] = []
    var fake = false
    var rest = arguments[...]
    while let bytes = rest.popFirst() {
      switch String(decoding: bytes, as: UTF8.self) {
      case "-o":
        words += [bytes] + rest.prefix(1)
        rest = rest.dropFirst()
      case "-t", "-N": rest = rest.dropFirst()
      case let word
      where word.hasPrefix("-") && !word.hasPrefix("--") && word.dropFirst().allSatisfy({ "sfnv".contains($0) }):
        if word.contains("f") { fake = true }
      default: words.append(bytes)
      }
    }
    if fake, case .mount = try parseMountArguments(words) { return .done }
    return try run(words)
  }
}
