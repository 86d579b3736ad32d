// The environment of this process, read at the edge and passed inward as a dictionary.
import MirrorPlatform

public enum ProcessEnvironment {
  /// What the process was started with (/proc/self/environ); empty where that can't be read.
  public static func read() -> [String: String] {
    guard let bytes = try? FileSystem.read("/proc/self/environ") else { return [:] }
    var values: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      guard let equals = entry.firstIndex(of: 0x3D) else { continue }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      values[name] = String(decoding: entry[entry.index(after: equals)...], as: UTF8.self)
    }
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
