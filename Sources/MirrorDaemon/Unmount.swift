// Ends a mount from another process, and waits until its daemon is gone.
import MirrorFUSE
import MirrorPlatform

public enum Unmount {
  /// Returns what there is to say about it. Throws 8 where nothing is mounted, 1 where it is in use.
  public static func end(_ path: String, lazy: Bool) throws(CommandFailure) -> String? {
    let mount = try RunningMounts.at(path)
    if RunningMounts.isOrphaned(mount.mountPoint) {
      do throws(MountError) { try DeadMount.abort(mount.mountPoint) } catch { throw CommandFailure(error) }
      return nil
    }
    guard let socket = mount.socket else { return try detach(mount.mountPoint, lazy: lazy) }
    let attendance: ControlClient.Attendance
    do throws(Errno) { attendance = try ControlClient.Attendance(.attend, at: socket) } catch {
      // It has begun to end meanwhile, or is dead.
      let isEnding = error == .noEntry || error == .connectionRefused
      if isEnding || DeadMount.isDead(mount.mountPoint) { return try detach(mount.mountPoint, lazy: lazy) }
      throw RunningMounts.unreachable(mount.mountPoint, error)
    }
    do throws(CommandFailure) { try ask(mount, ControlRequest(lazy ? .detach : .unmount)) } catch {
      // A daemon whose mount is gone may end before it has answered.
      if DeadMount.isDead(mount.mountPoint) { return try detach(mount.mountPoint, lazy: lazy) }
      if DeadMount.isMounted(mount.mountPoint) { throw error.code == .failure ? inUse(mount.mountPoint, error) : error }
    }
    if attendance.wait(atMost: lazy ? .seconds(2) : .seconds(60)) { return nil }
    let process = attendance.process.map { "process \($0)" } ?? "its process"
    if lazy { return "'\(mount.mountPoint)' is detached; \(process) ends when the last open file is closed" }
    throw CommandFailure(.failure, "'\(mount.mountPoint)' is unmounted, but \(process) has not ended yet; see its log")
  }

  /// Again for a moment while it is in use by nobody: a process that has just begun has what its parent had open, until
  /// it runs its program.
  private static func ask(_ mount: RunningMount, _ request: ControlRequest) throws(CommandFailure) {
    let clock = SystemClock()
    let start = clock.now()
    while true {
      do throws(CommandFailure) {
        _ = try mount.ask(request)
        return
      } catch {
        guard error.code == .failure, clock.now() - start < .seconds(2), DeadMount.isMounted(mount.mountPoint),
          !DeadMount.isDead(mount.mountPoint), Processes.using(mount.mountPoint).isEmpty
        else { throw error }
        pause(.milliseconds(50))
      }
    }
  }

  /// Without a daemon that can be asked: dead mounts, and others when that is what is wanted.
  private static func detach(_ mountPoint: String, lazy: Bool) throws(CommandFailure) -> String? {
    // One that ends by itself has no socket any more.
    for _ in 0..<40 where !lazy {
      if !DeadMount.isMounted(mountPoint) { return nil }
      if DeadMount.isDead(mountPoint) { break }
      pause(.milliseconds(50))
    }
    guard lazy || DeadMount.isDead(mountPoint) else {
      throw CommandFailure(
        .failure,
        "the process that serves '\(mountPoint)' can't be asked to unmount; try --lazy, or umount '\(mountPoint)'")
    }
    do throws(MountError) { try DeadMount.detach(mountPoint) } catch { throw CommandFailure(error) }
    return nil
  }

  private static func inUse(_ mountPoint: String, _ failure: CommandFailure) -> CommandFailure {
    let users = Processes.using(mountPoint)
    guard !users.isEmpty else { return failure }
    var names = users.prefix(5).map { "\($0.name) (\($0.process))" }.joined(separator: ", ")
    if users.count > 5 { names += " and \(users.count - 5) more" }
    return CommandFailure(.failure, "'\(mountPoint)' is busy, used by \(names); end these, or use --lazy")
  }
}
