// From words to a command: dispatch, and the one line that a failure leaves.
import MirrorDaemon
import MirrorPlatform

enum CommandLineTool {
  /// Runs what the arguments ask for.
  static func run() -> ExitCode {
    do throws(CommandFailure) { return try dispatch(ThisProcess.arguments) } catch {
      emit("s3mirror: \(error.message)\n", toErrors: true)
      return error.code
    }
  }

  private static func dispatch(_ arguments: [[UInt8]]) throws(CommandFailure) -> ExitCode {
    if ThisProcess.name.hasPrefix("mount.") { return try MountCommand.runForMount(arguments) }
    guard let first = arguments.first.map({ String(decoding: $0, as: UTF8.self) }) else {
      emit(Help.overview, toErrors: true)
      return .usage
    }
    let rest = Array(arguments.dropFirst())
    if let command = Command.named(first) {
      if rest.contains(Array("--help".utf8)) || rest.contains(Array("-h".utf8)) {
        emit(Help.text(of: command))
        return .done
      }
      return try command.run(rest)
    }
    // mount.fuse3(8) runs `s3mirror SOURCE MOUNTPOINT -o OPTIONS`.
    if arguments.count >= 4, arguments[2] == Array("-o".utf8) { return try MountCommand.run(arguments) }
    switch first {
    case "--help", "-h": return try HelpCommand.run([])
    case "--version", "-V": return try VersionCommand.run([])
    default:
      var hint = suggestion(for: first, among: Command.all.map(\.name))
      if hint.isEmpty, arguments.contains(where: { $0.contains(0x2F) }) {
        hint = "; the command comes first: s3mirror mount SOURCE MOUNTPOINT"
      }
      throw CommandFailure(.usage, "unknown command '\(first)'" + (hint.isEmpty ? "; see 's3mirror help'" : hint))
    }
  }
}
