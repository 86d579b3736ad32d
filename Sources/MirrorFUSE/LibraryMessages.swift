// What libfuse says: gathered while a mount is made, to become part of its error; logged afterwards.
import CFUSE
import MirrorPlatform
import Synchronization

/// libfuse has one message function for the whole process, so this is the process's one place for messages.
enum LibraryMessages {
  private struct State {
    var log = Log.none
    var gathered: [String]?
  }
  private static let state = Mutex(State())

  /// From now on messages go to `log` (the last one given) and no longer to stderr.
  static func send(to log: Log) {
    state.withLock { $0.log = log }
    unsafe cfuse_set_log(receive)
  }

  /// Runs `body`; the messages it caused, in one line.
  static func gathering<Value>(_ body: () -> Value) -> (Value, String) {
    state.withLock { $0.gathered = [] }
    let value = body()
    let lines = state.withLock { state in
      defer { state.gathered = nil }
      return state.gathered ?? []
    }
    return (value, lines.joined(separator: "; "))
  }

  fileprivate static func take(_ text: String, level: Int32) {
    let log: Log? = state.withLock { state in
      if state.gathered == nil || level > 4 { return state.log }
      if state.gathered?.count ?? 0 < 20 { state.gathered?.append(text) }
      return nil
    }
    guard let log else { return }
    switch level {
    case ...3: log.limited(.error, key: text, "libfuse: \(text)")
    case 4, 5: log.limited(.warning, key: text, "libfuse: \(text)")
    default: log.debug("libfuse: \(text)")
    }
  }
}

private func receive(level: Int32, text: UnsafePointer<CChar>) {
  var line = unsafe String(cString: text)
  while line.last == "\n" { line.removeLast() }
  if !line.isEmpty { LibraryMessages.take(line, level: level) }
}
