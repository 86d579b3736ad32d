// `metrics` and `log-level`: what operators ask of running mounts.
import MirrorDaemon
import MirrorPlatform

enum MetricsCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "metrics")
    let answers = try RunningMounts.ask(ControlRequest(.metrics), words.positionals, of: "metrics")
    emit(MetricsText.joined(answers.map(\.text)))
    return .done
  }
}

enum LogLevelCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "log-level")
    var rest = words.positionals
    var level: [UInt8] = []
    if let first = rest.first, Log.Level(name: String(decoding: first, as: UTF8.self)) != nil {
      level = rest.removeFirst()
    } else if let first = rest.first, first.first != 0x2F, first.first != 0x2E {
      let name = String(decoding: first, as: UTF8.self)
      let hint = suggestion(for: name, among: Log.Level.allCases.map(\.name))
      throw CommandFailure(.usage, "there is no log level '\(name)': it is one of \(Log.Level.names)" + hint)
    }
    for answer in try RunningMounts.ask(ControlRequest(.logLevel, level), rest, of: "log-level") {
      emit("\(quoted(answer.mountPoint)): \(answer.text)")
    }
    return .done
  }
}

extension RunningMounts {
  /// Asks the mount that is named, or all; those that can't be asked are told of, and are a failure where none can.
  static func ask(
    _ request: ControlRequest, _ named: [[UInt8]], of command: String
  ) throws(CommandFailure) -> [(mountPoint: String, text: String)] {
    guard named.count <= 1 else {
      throw CommandFailure(.usage, "too many arguments; see 's3mirror help \(command)'")
    }
    if let path = named.first {
      let mount = try at(String(decoding: path, as: UTF8.self))
      return [(mount.mountPoint, try mount.ask(request))]
    }
    let asked = askAll(request)
    guard !asked.isEmpty else { throw CommandFailure(.notMounted, "nothing is mounted") }
    var answers: [(String, String)] = []
    var failure: CommandFailure?
    for (mount, answer) in asked {
      switch answer {
      case .success(let text): answers.append((mount.mountPoint, text))
      case .failure(let error):
        if let failure { emit("s3mirror: \(failure.message)\n", toErrors: true) }
        failure = error
      }
    }
    if let failure {
      if answers.isEmpty { throw failure }
      emit("s3mirror: \(failure.message)\n", toErrors: true)
    }
    return answers.map { (mountPoint: $0.0, text: $0.1) }
  }
}
