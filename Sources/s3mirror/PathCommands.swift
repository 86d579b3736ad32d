// `refresh` and `explain`: about files in a mount, named by their paths. Nothing is asked of the mount itself.
import MirrorDaemon
import MirrorPlatform

enum RefreshCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "refresh")
    guard !words.positionals.isEmpty else {
      throw CommandFailure(.usage, "PATH is missing; usage: s3mirror refresh PATH...")
    }
    var total = 0
    var failure: CommandFailure?
    for path in words.positionals {
      do throws(CommandFailure) {
        let (mount, inside) = try RunningMounts.containing(path)
        total += Int(try mount.ask(ControlRequest(.refresh, inside))) ?? 0
      } catch {
        // The others are refreshed all the same; the last failure is told by the caller.
        if let failure { emit("s3mirror: \(failure.message)\n", toErrors: true) }
        failure = error
      }
    }
    if failure == nil || total > 0 { emit("\(total) \(total == 1 ? "entry" : "entries") marked stale\n") }
    if let failure { throw failure }
    return .done
  }
}

enum ExplainCommand {
  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "explain", flags: ["json"])
    let (mount, path) = try RunningMounts.containing(try words.one("PATH", of: "explain"))
    emit(try mount.ask(ControlRequest(words.flags.contains("json") ? .explainJSON : .explain, path)))
    return .done
  }
}
