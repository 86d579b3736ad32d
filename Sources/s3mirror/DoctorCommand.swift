// `doctor`: a line for each step from the settings to an object's bytes.
import MirrorDaemon
import MirrorPlatform

enum DoctorCommand {
  static let details =
    "Takes the options of mount, and no mount point, or the name of a mount in a\n"
    + "configuration file. About five requests are sent; without SOURCE none to any bucket.\n"
    + "The exit code is that of the first FAIL."

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let (settings, hasSource) = try parse(arguments)
    for warning in settings.warnings { emit("note  options: \(warning)\n") }
    return Doctor(settings, hasSource: hasSource) { emit($0.line + "\n") }.examine()
  }

  /// The arguments of a mount that is never made.
  private static func parse(_ arguments: [[UInt8]]) throws(CommandFailure) -> (MountSettings, hasSource: Bool) {
    // The name of a mount in a configuration file says it all.
    if case .mount(let settings)? = try? parseMountArguments(arguments) { return (settings, true) }
    let point = Array("/".utf8)
    do throws(CommandFailure) {
      if case .mount(let settings) = try parseMountArguments(arguments + [point]) { return (settings, true) }
    } catch {
      let none = Array("none".utf8)
      if case .mount(let settings)? = try? parseMountArguments(arguments + [none, point]) { return (settings, false) }
      throw error
    }
    throw CommandFailure(.usage, "usage: s3mirror doctor [options] [SOURCE]")
  }
}
