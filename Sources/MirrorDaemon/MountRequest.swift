// What a mount was asked for, in arguments and configuration, and the settings that come of it.
import MirrorPlatform

/// The arguments of a mount as they were given; the configuration may be read again.
public struct MountRequest: Sendable {
  var positionals: [String] = []
  var options: [GivenOption] = []
  var noExecute = false
  /// The file named by --config, from the root.
  private(set) var file: String?

  init() {}

  /// The file that counts is known once all arguments are.
  mutating func complete() {
    let named = options.effective().first { $0.option.name == "config" }
    file = named?.value
    options.removeAll { $0.option.name == "config" }
  }

  /// Reads the configuration, and joins what it says with the arguments.
  func settings() throws(CommandFailure) -> MountSettings {
    let configuration = try Configuration(file: file)
    let section = positionals.count == 1 ? configuration.mount(positionals[0]) : nil
    let warnings = try configuration.check(for: section?.name)
    let (source, point) = try places(section, configuration)
    var settings = MountSettings(source: source, mountPoint: point)
    settings.request = self
    settings.given = (configuration.general + (section?.options ?? []) + options).effective()
    for given in settings.given { try given.apply(to: &settings) }
    settings.warnings += warnings
    // The kernel executes nothing that has no x bit, so noexec needs no word from the mount.
    if noExecute { settings.fileMode &= ~0o111 }
    return settings
  }

  private func places(
    _ section: ConfigurationSection?, _ configuration: Configuration
  ) throws(CommandFailure) -> (Source, String) {
    let usage = "usage: s3mirror mount [options] SOURCE MOUNTPOINT, or NAME of a mount in s3mirror.conf(5)"
    switch positionals.count {
    case 0: throw CommandFailure(.usage, "SOURCE and MOUNTPOINT are missing; \(usage)")
    case 1:
      guard let section else {
        let hint = suggestion(for: positionals[0], among: configuration.mounts)
        throw CommandFailure(
          .usage,
          "MOUNTPOINT is missing, and no configuration file has a section [mount \"\(positionals[0])\"]"
            + (hint.isEmpty ? "; \(usage)" : hint))
      }
      // Both are there: `check` has seen to it.
      return (try Source(parsing: section.source?.text ?? ""), section.mountPoint?.text ?? "")
    case 2:
      guard !positionals[1].isEmpty else { throw CommandFailure(.usage, "MOUNTPOINT is empty") }
      return (try Source(parsing: positionals[0]), positionals[1])
    default: throw CommandFailure(.usage, "too many arguments: '\(positionals[2])'; \(usage)")
    }
  }
}
