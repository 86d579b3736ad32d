// Where a mount's log goes: standard error in the foreground, else a file that outlives the terminal.
import MirrorPlatform

enum MountLog {
  /// `--log-file`, or for a mount in the background `log/` in the cache directory; nil: standard error.
  static func path(_ settings: MountSettings, _ place: MountPlace) -> String? {
    if let file = settings.logFile { return absolutePath(file) }
    return settings.foreground ? nil : "\(place.cacheRoot)/log/\(name(of: place.mountPoint)).log"
  }

  static func open(_ path: String?, _ settings: MountSettings, _ place: MountPlace) throws(CommandFailure) -> Log {
    if let path, settings.logFile == nil, let directory = FileSystem.parent(of: path) {
      do throws(Errno) { try FileSystem.makeDirectories(directory) } catch {
        throw CommandFailure(
          .cacheUnusable, "cache directory '\(place.cacheRoot)': \(error); choose another --cache-dir")
      }
    }
    do throws(Errno) { return try Log(path: path, level: settings.logLevel) } catch {
      let code: ExitCode = settings.logFile == nil ? .cacheUnusable : .failure
      throw CommandFailure(code, "log file '\(path ?? "")': \(error); choose another --log-file")
    }
  }

  /// `/mnt/my data` is `mnt-my_data`, with a hash that tells apart what that does not; at most 100 bytes.
  static func name(of mountPoint: String) -> String {
    let readable = mountPoint.utf8.dropFirst().prefix(80).map { byte -> UInt8 in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x2D: byte
      case 0x2F: 0x2D
      default: 0x5F
      }
    }
    let hash = stableHash(Array(mountPoint.utf8)) & 0xFFFF_FFFF
    return String(decoding: readable, as: UTF8.self) + "-" + String(hash, radix: 16)
  }
}
