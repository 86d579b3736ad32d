// The mounts of this machine as the commands find them: the mount table, and the sockets of the daemons.
import MirrorFUSE
import MirrorPlatform

public struct RunningMount: Sendable {
  public let mountPoint: String
  /// Nil where no daemon of ours can be reached: it died, or belongs to another user.
  public let socket: String?

  public init(mountPoint: String, socket: String?) {
    self.mountPoint = mountPoint
    self.socket = socket
  }

  /// Asks its daemon.
  public func ask(
    _ request: ControlRequest, patience: Duration = .seconds(60), step: (ControlStep) -> Void = { _ in }
  ) throws(CommandFailure) -> String {
    guard let socket else { throw RunningMounts.unreachable(mountPoint) }
    let answer: ControlAnswer
    do throws(Errno) { answer = try ControlClient.ask(request, at: socket, patience: patience, step: step) } catch {
      throw RunningMounts.unreachable(mountPoint, error)
    }
    switch answer {
    case .text(let text): return text
    case .failure(let failure): throw failure
    }
  }
}

public enum RunningMounts {
  /// All mounts in the mount table, in the order of mounting.
  public static func all() -> [RunningMount] {
    let points = ((try? MountTable.mirrors()) ?? []).map(\.mountPoint)
    return points.map { RunningMount(mountPoint: $0, socket: socket(of: $0)) }
  }

  /// Asks all mounts at once, so that a process that is stopped or stuck holds nobody up for more than five seconds.
  public static func askAll(
    _ request: ControlRequest
  ) -> [(mount: RunningMount, answer: Result<String, CommandFailure>)] {
    let asked = all().map { mount in
      let answer = Promise<Result<String, CommandFailure>>()
      startThread("ask") {
        do throws(CommandFailure) { answer.set(.success(try mount.ask(request, patience: .seconds(5)))) } catch {
          answer.set(.failure(error))
        }
      }
      return (mount: mount, answer: answer)
    }
    return asked.map { ($0.mount, $0.answer.wait()) }
  }

  /// The mount at exactly this path; a link to its mount point will do.
  public static func at(_ path: String) throws(CommandFailure) -> RunningMount {
    let bytes = Array(path.utf8)
    if let (mount, rest) = find(absolutePath(bytes)), rest.isEmpty { return mount }
    throw CommandFailure(.notMounted, "'\(path)' is not a mount of s3mirror; see 's3mirror status'")
  }

  /// The mount that a path lies in, and the rest of the path, found in the mount table: nothing is asked of the mount.
  public static func containing(_ path: [UInt8]) throws(CommandFailure) -> (mount: RunningMount, path: [UInt8]) {
    if let found = find(absolutePath(path)) { return found }
    throw CommandFailure(
      .notMounted,
      "'\(String(decoding: path, as: UTF8.self))' does not lie in a mount of s3mirror; see 's3mirror status'")
  }

  /// Follows links on the way to the mount, and none in it.
  private static func find(_ path: [UInt8]) -> (RunningMount, [UInt8])? {
    guard let records = try? MountTable.records() else { return nil }
    var current: [UInt8] = []
    var rest = path.split(separator: 0x2F)[...]
    while true {
      let place = current.isEmpty ? "/" : String(decoding: current, as: UTF8.self)
      if let top = records.last(where: { $0.mountPoint == place }), top.isMirror {
        return (RunningMount(mountPoint: place, socket: socket(of: place)), Array(rest.joined(separator: [0x2F])))
      }
      guard let next = rest.popFirst() else { return nil }
      current += [0x2F] + next
      let candidate = String(decoding: current, as: UTF8.self)
      if records.contains(where: { $0.mountPoint == candidate && $0.isMirror }) { continue }
      if let attributes = try? FileSystem.attributes(candidate), attributes.kind == .link,
        let target = try? FileSystem.resolve(candidate)
      {
        // Begin again: the target may lie in a mount, or be one.
        let remainder = [0x2F] + rest.joined(separator: [0x2F])
        rest = (Array(target.utf8) + remainder).split(separator: 0x2F)[...]
        current = []
      }
    }
  }

  /// The socket of the daemon that serves a mount point; nil when none listens.
  static func socket(of mountPoint: String) -> String? {
    RuntimeDirectory.searched().filter { (try? RuntimeDirectory.isPrivate($0)) == true }
      .map { RuntimeDirectory.path(in: $0, mountPoint) }
      .first { (try? FileSystem.attributes($0)) != nil && !ControlClient.isAbandoned($0) }
  }

  /// Daemons whose mount is no longer in the table, detached but in use; removes what dead ones left.
  public static func detachedSockets() -> [String] {
    let known = Set(all().compactMap(\.socket))
    var sockets: [String] = []
    for directory in RuntimeDirectory.searched() where (try? RuntimeDirectory.isPrivate(directory)) == true {
      for name in ((try? FileSystem.list(directory)) ?? []).sorted() where name.hasSuffix(ControlServer.suffix) {
        let path = directory + "/" + name
        if ControlClient.isAbandoned(path) {
          try? FileSystem.removeFile(path)
        } else if !known.contains(path) {
          sockets.append(path)
        }
      }
    }
    return sockets
  }

  /// Nobody serves it any more, and the kernel does not know: its process has ended (one thread may be left), and the
  /// mount does not answer. What only takes long is none.
  static func isOrphaned(_ mountPoint: String) -> Bool {
    guard DeadMount.isMounted(mountPoint) else { return false }
    let sockets = RuntimeDirectory.searched().filter { (try? RuntimeDirectory.isPrivate($0)) == true }
      .map { RuntimeDirectory.path(in: $0, mountPoint) }.filter { (try? FileSystem.attributes($0)) != nil }
    // Without a socket nothing is known of its process.
    guard !sockets.isEmpty else { return false }
    let isServed = sockets.contains { socket in
      ControlClient.process(at: socket).map { Processes.isRunning($0) } ?? !ControlClient.isAbandoned(socket)
    }
    return !isServed && DeadMount.isSilent(mountPoint)
  }

  static func unreachable(_ mountPoint: String, _ error: Errno? = nil) -> CommandFailure {
    if DeadMount.isDead(mountPoint) {
      return CommandFailure(
        .failure, "'\(mountPoint)' is a dead mount, its process is gone; 's3mirror unmount \(mountPoint)' removes it")
    }
    let detail = error.map { " (\($0))" } ?? "; is it another user's?"
    return CommandFailure(.failure, "the process that serves '\(mountPoint)' can't be asked\(detail)")
  }
}
