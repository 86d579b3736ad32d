// Whether a thread will die of its pending signals, before its program could see EINTR.
import MirrorPlatform

/// The signal masks of proc(5) status; signal n is bit n - 1.
struct SignalState: Sendable {
  private var pending: UInt64 = 0
  private var withoutEffect: UInt64 = 0
  private var isTraced = false

  init(status: [UInt8]) {
    for line in status.split(separator: 0x0A) {
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      let name = String(decoding: line[..<colon], as: UTF8.self)
      let value = String(decoding: line[(colon + 1)...].drop { $0 == 0x09 || $0 == 0x20 }, as: UTF8.self)
      switch name {
      case "SigPnd", "ShdPnd": pending |= UInt64(value, radix: 16) ?? 0
      case "SigBlk", "SigIgn", "SigCgt": withoutEffect |= UInt64(value, radix: 16) ?? .max
      case "TracerPid": isTraced = value != "0"
      default: break
      }
    }
  }

  private static let kill: UInt64 = 0x100
  /// SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH: their default action kills nobody (signal(7)).
  private static let harmless: UInt64 = [17, 18, 19, 20, 21, 22, 23, 28].reduce(0) { $0 | 1 << ($1 - 1) }

  /// SIGKILL is pending, which the kernel also sets in every thread that a fatal signal takes down; or a signal that
  /// is neither blocked, ignored nor caught is, which the kernel leaves as it is behind an earlier, harmless one. A
  /// debugger could still take that one back.
  var isDeadly: Bool {
    if pending & Self.kill != 0 { return true }
    return !isTraced && pending & ~withoutEffect & ~Self.harmless != 0
  }
}
