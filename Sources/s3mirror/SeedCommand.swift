// `seed create`: a directory that an image carries, so that machines begin with content.
import MirrorCore
import MirrorDaemon
import MirrorPlatform
import MirrorStore
import Synchronization

enum SeedCommand {
  static let details =
    "create  fetches all that SOURCE holds into DIR, for 's3mirror mount --seed DIR'. Takes\n"
    + "        the options of mount. What DIR has already is not fetched again, so the same\n"
    + "        command goes on after a failure, and brings a seed up to date."

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    guard arguments.first == Array("create".utf8) else {
      throw CommandFailure(.usage, "say what about the seed: create; usage: s3mirror seed create [options] SOURCE DIR")
    }
    let settings: MountSettings
    do throws(CommandFailure) {
      guard case .mount(let parsed) = try parseMountArguments(Array(arguments.dropFirst())) else {
        throw CommandFailure(.usage, "usage: s3mirror seed create [options] SOURCE DIR")
      }
      settings = parsed
    } catch {
      guard error.message.contains("MOUNTPOINT") else { throw error }
      throw CommandFailure(.usage, "SOURCE or DIR is missing; usage: s3mirror seed create [options] SOURCE DIR")
    }
    for warning in settings.warnings { emit("s3mirror: warning: \(warning)\n", toErrors: true) }
    let bar = Mutex(SharedBar())
    defer { bar.withLock { $0.bar.end() } }
    let summary = try SeedMaking.run(settings) { step in
      bar.withLock { $0.bar.show(step, at: SystemClock().now()) }
    }
    bar.withLock { $0.bar.end() }
    emit(
      "\(summary.objects) objects, \(ByteCount(summary.bytes)): \(summary.fetched) fetched, "
        + "\(summary.objects - summary.fetched) there before\n")
    for out in summary.leftOut {
      emit("s3mirror: left out: \(quoted(out.key.description)): \(out.reason)\n", toErrors: true)
    }
    for failure in summary.failures {
      emit("s3mirror: \(quoted(failure.key.description)): \(failure.reason)\n", toErrors: true)
    }
    if summary.failures.isEmpty { return .done }
    throw CommandFailure(.failure, "the seed is not finished; the same command goes on with it")
  }
}

/// A bar for threads to share.
private struct SharedBar {
  var bar = ProgressBar(isTerminal: ThisProcess.isTerminal(errors: true)) { emit($0, toErrors: true) }
}
