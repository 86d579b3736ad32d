// What is said to the service manager that started this process: sd_notify(3), a datagram at a time.
import CGlibc

/// Who waits for word of this process, such as systemd for a unit of Type=notify.
public struct ServiceManager: Sendable {
  private let socket: String
  /// It wants to hear of life this often at least; nil: it does not watch.
  public let watchdog: Duration?

  /// From `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, which the programs that this one runs don't inherit; nil
  /// where nobody waits. Only while there is one thread.
  public static func expecting() -> ServiceManager? {
    let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]
    let values = names.map { ThisProcess.environment($0) }
    for name in names { ThisProcess.setEnvironment(name, nil) }
    guard let socket = values[0], socket.hasPrefix("/") || socket.hasPrefix("@") else { return nil }
    let isMeant = values[2].map { Int32($0) == ThisProcess.identifier } ?? true
    let interval = values[1].flatMap { Int64($0) }.flatMap { $0 > 0 && isMeant ? Duration.microseconds($0) : nil }
    return ServiceManager(socket: socket, watchdog: interval)
  }

  /// Sends these assignments. A manager that has gone, or never was, is nobody's error.
  public func tell(_ assignments: (name: String, value: String)...) {
    let lines = assignments.map { "\($0.name)=\($0.value.split(separator: "\n").joined(separator: " "))\n" }
    let bytes = Array(lines.joined().utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe cglibc_datagram(socket, $0.baseAddress, $0.count) }
  }
}
