// `status`: the daemons render their part, this joins the parts.
import MirrorDaemon
import MirrorPlatform

enum StatusCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "status", flags: ["json", "hidden"])
    let json = words.flags.contains("json")
    if words.positionals.isEmpty, !words.flags.contains("hidden") { return showAll(json: json) }
    let path = String(decoding: try words.one("MOUNTPOINT", of: "status"), as: UTF8.self)
    let mount = try RunningMounts.at(path)
    if words.flags.contains("hidden") {
      emit(try mount.ask(ControlRequest(.hidden)))
    } else if json {
      emit(document([try mount.ask(ControlRequest(.statusJSON))]))
    } else {
      emit(try mount.ask(ControlRequest(.status)))
    }
    return .done
  }

  /// Those that can't be asked are no part of the answer, but not passed over in silence either.
  private static func showAll(json: Bool) -> ExitCode {
    var parts: [String] = []
    var problems: [String] = []
    let request = ControlRequest(json ? .statusJSON : .status)
    for (_, answer) in RunningMounts.askAll(request) {
      switch answer {
      case .success(let text): parts.append(text)
      case .failure(let failure): problems.append(failure.message)
      }
    }
    for socket in RunningMounts.detachedSockets() {
      guard case .text(let text)? = try? ControlClient.ask(request, at: socket, patience: .seconds(5)) else { continue }
      parts.append(json ? text : "detached, in use until its last file is closed: \(text)")
    }
    if json {
      emit(document(parts))
    } else {
      emit(parts.isEmpty && problems.isEmpty ? "nothing is mounted\n" : parts.joined(separator: "\n"))
    }
    for problem in problems { emit("s3mirror: \(problem)\n", toErrors: true) }
    return .done
  }

  private static func document(_ mounts: [String]) -> String {
    "{\"version\":\(JSON.string(programVersion).text),\"mounts\":[\(mounts.joined(separator: ","))]}\n"
  }
}
