// `help` and `version`.
import MirrorDaemon
import MirrorPlatform

enum HelpCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    guard let name = arguments.first.map({ String(decoding: $0, as: UTF8.self) }) else {
      emit(Help.overview)
      return .done
    }
    guard let command = Command.named(name) else {
      throw CommandFailure(
        .usage, "there is no command '\(name)'" + suggestion(for: name, among: Command.all.map(\.name)))
    }
    emit(Help.text(of: command))
    return .done
  }
}

enum VersionCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { _ in
    emit("s3mirror \(programVersion)\n")
    return .done
  }
}
