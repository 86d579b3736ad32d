// What helps others to see what is wrong here, in one archive: configuration, state, recent log, and no secrets.
public import MirrorPlatform

public struct DebugBundle: Sendable {
  /// Of each log, bytes from its end.
  private static let logTail = 1 << 20

  private let redaction: Redaction
  private let now: Int64
  private var archive = TarArchive()

  public init(redaction: Redaction, now: WallTime) {
    self.redaction = redaction
    self.now = now.seconds
  }

  public var data: [UInt8] { archive.data }

  /// Adds a text without what is secret in it.
  public mutating func add(_ path: String, _ text: [UInt8]) {
    archive.add("s3mirror-debug/" + path, redaction.applied(to: text), modified: now)
  }

  /// Adds all that is known of this machine, its mounts and its caches.
  public mutating func collect() {
    add("version", Array("s3mirror \(programVersion)\n".utf8))
    add("system", Array(system.utf8))
    add("environment", Array(environment.utf8))
    let home = ThisProcess.environment("XDG_CONFIG_HOME") ?? (ThisProcess.home ?? "") + "/.config"
    for (name, path) in [("system", "/etc/s3mirror.conf"), ("user", home + "/s3mirror/s3mirror.conf")] {
      if let text = try? FileSystem.read(path) { add("\(name).conf", text) }
    }
    for (index, mount) in RunningMounts.all().enumerated() {
      let place = "mount-\(index + 1)"
      add("\(place)/mountpoint", Array((mount.mountPoint + "\n").utf8))
      let status = ask(mount, .statusJSON)
      add("\(place)/status.json", Array(status.utf8))
      for (name, verb) in [("metrics", ControlRequest.Verb.metrics), ("hidden.json", .hidden)] {
        add("\(place)/\(name)", Array(ask(mount, verb).utf8))
      }
      add("\(place)/cost", Array(ask(mount, .cost, CostQuestion().encoded).utf8))
      let json = JSON(parsing: Array(status.utf8))
      if let process = json?["pid"]?.int { add("\(place)/arguments", arguments(of: process)) }
      if let log = json?["log"]?["file"]?.string {
        for path in [log, log + ".1"] where (try? FileSystem.attributes(path)) != nil {
          add("\(place)/log\(path == log ? "" : ".1")", tail(of: path))
        }
      }
    }
  }

  private func ask(_ mount: RunningMount, _ verb: ControlRequest.Verb, _ argument: [UInt8] = []) -> String {
    do throws(CommandFailure) { return try mount.ask(ControlRequest(verb, argument)) } catch {
      return error.message + "\n"
    }
  }

  private var system: String {
    let files = ["/proc/version", "/etc/os-release", "/proc/meminfo", "/proc/loadavg", "/etc/fuse.conf"]
    let texts = files.map { path in
      "== \(path)\n" + String(decoding: ((try? FileSystem.read(path)) ?? []).prefix(1 << 14), as: UTF8.self)
    }
    let mounts = String(decoding: (try? FileSystem.read("/proc/self/mountinfo")) ?? [], as: UTF8.self)
      .split(separator: "\n").filter { $0.contains("fuse") }
    return (texts + ["== /proc/self/mountinfo, fuse\n" + mounts.joined(separator: "\n")]).joined(separator: "\n") + "\n"
  }

  /// Which settings there are; their values are nobody's business.
  private var environment: String {
    let names = ThisProcess.environmentNames.filter { name in
      ["AWS_", "S3MIRROR_", "XDG_"].contains { name.hasPrefix($0) } || name.lowercased().hasSuffix("_proxy")
    }
    return names.sorted().map { $0 + " is set\n" }.joined()
  }

  private func arguments(of process: Int64) -> [UInt8] {
    let bytes = (try? FileSystem.read("/proc/\(process)/cmdline")) ?? []
    return Array(bytes.split(separator: 0).joined(separator: [0x0A])) + [0x0A]
  }

  /// From the beginning of a line on.
  private func tail(of path: String) -> [UInt8] {
    do throws(Errno) {
      let file = try File.open(path, .read)
      let size = try file.attributes().size
      let start = max(0, size - Int64(Self.logTail))
      let bytes = try file.read(at: start, count: Int(size - start))
      return start == 0 ? bytes : Array(bytes.drop { $0 != 0x0A }.dropFirst())
    } catch { return Array("\(path): \(error)\n".utf8) }
  }
}
