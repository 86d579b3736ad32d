// The environment of this process, read at the edge and passed inward as a dictionary.
import MirrorPlatform

public enum ProcessEnvironment {
  /// What the process was started with (/proc/self/environ), and a HOME, which services and mounts at boot don't get:
  /// that of the password database.
  public static func read() -> [String: String] {
    let bytes = (try? FileSystem.read("/proc/self/environ")) ?? []
    var values: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      guard let equals = entry.firstIndex(of: 0x3D) else { continue }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      values[name] = String(decoding: entry[entry.index(after: equals)...], as: UTF8.self)
    }
    if values["HOME"]?.isEmpty ?? true { values["HOME"] = ThisProcess.home }
    return values
  }
}

extension [String: String] {
  /// The first of these variables that is set and not empty.
  func nonEmpty(_ names: String...) -> String? {
    for name in names { if let value = self[name], !value.isEmpty { return value } }
    return nil
  }
}
