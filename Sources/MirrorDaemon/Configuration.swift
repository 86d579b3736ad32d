// The configuration of this machine and user: which files it is made of, and what they say of one mount.
import MirrorPlatform

public struct Configuration: Sendable {
  /// What counts more comes later.
  private(set) var files: [ConfigurationFile] = []

  /// No file at all.
  init() {}

  /// For all users.
  static let system = "/etc/s3mirror.conf"

  /// The user's own: `$XDG_CONFIG_HOME/s3mirror/s3mirror.conf`, by default below `~/.config`.
  static var user: String? {
    if let directory = ThisProcess.environment("XDG_CONFIG_HOME"), directory.hasPrefix("/") {
      return directory + "/s3mirror/s3mirror.conf"
    }
    return ThisProcess.home.map { $0 + "/.config/s3mirror/s3mirror.conf" }
  }

  /// Reads the named file, or else those that exist of the two usual ones.
  public init(file: String?) throws(CommandFailure) {
    for path in file.map({ [absolutePath($0)] }) ?? [Self.system, Self.user].compactMap({ $0 }) {
      do throws(Errno) {
        files.append(ConfigurationFile(path: path, bytes: try FileSystem.read(path)))
      } catch {
        if file == nil, error == .noEntry || error == .notDirectory { continue }
        throw CommandFailure(.usage, "configuration file '\(path)' can't be read: \(error)")
      }
    }
  }

  public var paths: [String] { files.map(\.path) }

  /// The names of its mounts, in their order.
  public var mounts: [String] {
    var names: [String] = []
    for name in files.flatMap(\.sections).compactMap(\.name) where !names.contains(name) { names.append(name) }
    return names
  }

  /// All mistakes, those between lines too.
  public var problems: [ConfigurationProblem] {
    var found = files.flatMap(\.problems)
    var points: [String: String] = [:]
    for name in mounts {
      guard let mount = mount(name) else { continue }
      for (key, value) in [("source", mount.source), ("mountpoint", mount.mountPoint)] where value == nil {
        if found.contains(where: { $0.section == name && $0.text.contains(key) }) { continue }
        found.append(
          ConfigurationProblem(place: mount.place, section: name, text: "[mount \"\(name)\"] needs a line '\(key) = …'")
        )
      }
      guard let point = mount.mountPoint else { continue }
      if let other = points[absolutePath(point.text)] {
        found.append(
          ConfigurationProblem(
            place: point.place, section: name,
            text: "'\(point.text)' is the mountpoint of [mount \"\(other)\"] already"))
      }
      points[absolutePath(point.text)] = name
    }
    return found
  }

  /// What all files together say of one mount; nil where none has a section of this name.
  func mount(_ name: String) -> ConfigurationSection? {
    let sections = files.flatMap(\.sections).filter { $0.name == name }
    guard var mount = sections.last else { return nil }
    mount.source = sections.last { $0.source != nil }?.source
    mount.mountPoint = sections.last { $0.mountPoint != nil }?.mountPoint
    mount.options = sections.flatMap(\.options)
    return mount
  }

  /// What holds for all mounts.
  var general: [GivenOption] { files.flatMap(\.sections).filter { $0.name == nil }.flatMap(\.options) }

  /// Refuses what concerns a mount, or all of them; mistakes in other sections are told as warnings.
  func check(for name: String?) throws(CommandFailure) -> [String] {
    let problems = problems
    let ours = problems.filter { $0.section == nil || $0.section == name }
    guard let first = ours.first else { return problems.map(\.description) }
    let more = ours.count == 1 ? "" : "; and \(ours.count - 1) more: see 's3mirror config check'"
    throw CommandFailure(.usage, first.description + more)
  }
}
