// Tells a service manager how a mount does: ready, in a line how it is, and again and again that it lives.
import MirrorCore
import MirrorPlatform
import Synchronization

/// Speaks for one mount, on a thread of its own. Safe to share.
final class ServiceWatch: Sendable {
  private let manager: ServiceManager
  private let source: String
  private let place: MountPlace
  private let assembly: Assembly
  private let isOver = Mutex(false)

  init(_ manager: ServiceManager, _ source: String, _ place: MountPlace, _ assembly: Assembly) {
    self.manager = manager
    self.source = source
    self.place = place
    self.assembly = assembly
  }

  /// Says that the mount is ready, and goes on speaking until `stop`.
  func start() {
    let first = status
    manager.tell(("READY", "1"), ("STATUS", first), ("MAINPID", "\(ThisProcess.identifier)"))
    let interval = min(manager.watchdog.map { $0 / 3 } ?? .seconds(10), .seconds(10))
    startThread("service") { [self] in
      var told = first
      while true {
        pause(interval)
        let isOver = isOver.withLock { $0 }
        if isOver { return }
        // A mount that answers this lives; one that doesn't holds up this thread, and so is found out.
        _ = try? FileSystem.space(place.mountPoint)
        if manager.watchdog != nil { manager.tell(("WATCHDOG", "1")) }
        let now = status
        if now != told { manager.tell(("STATUS", now)) }
        told = now
      }
    }
  }

  func stop() {
    isOver.withLock { $0 = true }
    manager.tell(("STOPPING", "1"), ("STATUS", "unmounting \(place.mountPoint)"))
  }

  private var status: String {
    let mirror = assembly.mirror.status()
    let state = mirror.offlineSince.map { "offline since \(Timestamp(seconds: $0.seconds).rfc3339)" } ?? "online"
    return "\(source) on \(place.mountPoint), \(state)"
  }
}
