// The log: one line an event, to standard error or a file, with repeats held back.
import Glibc
import Synchronization

/// A log that threads share; lines are written whole.
public final class Log: Sendable {
  public enum Level: Int, Comparable, CaseIterable, Sendable {
    case error, warning, notice, info, debug
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    public var name: String { ["error", "warning", "notice", "info", "debug"][rawValue] }
    public init?(name: String) {
      guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = level
    }
  }

  private struct Repeats {
    var lastWritten: [String: Instant] = [:]
    var heldBack: [String: Int] = [:]
    var once: Set<String> = []
  }

  private let file: File?
  private let threshold: Atomic<Int>
  private let silent: Bool
  private let clock: any Clock
  private let repeats = Mutex(Repeats())

  /// Writes to `path` (appending, mode 0600) or, without one, to standard error.
  public init(path: String? = nil, level: Level = .notice, clock: any Clock = SystemClock()) throws(Errno) {
    threshold = Atomic(level.rawValue)
    silent = false
    self.clock = clock
    if let path {
      file = File(owning: try checked { unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) })
    } else {
      file = nil
    }
  }

  /// A log that writes nothing.
  public static let none = Log()
  private init() {
    file = nil
    threshold = Atomic(Level.error.rawValue)
    clock = SystemClock()
    silent = true
  }

  /// The least urgent level that is written; may change at any time.
  public var level: Level {
    get { Level(rawValue: threshold.load(ordering: .relaxed)) ?? .notice }
    set { threshold.store(newValue.rawValue, ordering: .relaxed) }
  }

  public func error(_ message: @autoclosure () -> String) { write(.error, message) }
  public func warning(_ message: @autoclosure () -> String) { write(.warning, message) }
  public func notice(_ message: @autoclosure () -> String) { write(.notice, message) }
  public func info(_ message: @autoclosure () -> String) { write(.info, message) }
  public func debug(_ message: @autoclosure () -> String) { write(.debug, message) }

  /// Writes once in the life of the process for each `key`.
  public func once(_ level: Level, key: String, _ message: @autoclosure () -> String) {
    guard enabled(level) else { return }
    let first = repeats.withLock { $0.once.count < 10_000 && $0.once.insert(key).inserted }
    if first { write(level, message) }
  }

  /// Writes at most once a minute for each `key`, with the number of lines held back since.
  public func limited(_ level: Level, key: String, _ message: @autoclosure () -> String) {
    guard enabled(level) else { return }
    let now = clock.now()
    let held: Int? = repeats.withLock { state in
      if let last = state.lastWritten[key], now - last < .seconds(60) {
        state.heldBack[key, default: 0] += 1
        return nil
      }
      state.lastWritten[key] = now
      return state.heldBack.removeValue(forKey: key) ?? 0
    }
    guard let held else { return }
    let text = message()
    write(level) { held > 0 ? "\(text) (\(held) more like it in the last minutes)" : text }
  }

  private func enabled(_ level: Level) -> Bool { !silent && level.rawValue <= threshold.load(ordering: .relaxed) }

  private func write(_ level: Level, _ message: () -> String) {
    guard enabled(level) else { return }
    let stamp = Timestamp(seconds: clock.wall().seconds).rfc3339
    var line = Array("\(stamp) \(level.name): ".utf8)
    // A message may quote a key: control characters must not forge lines.
    for byte in message().utf8 {
      line += byte < 0x20 || byte == 0x7F ? Array("\\x\(hexadecimal([byte]))".utf8) : [byte]
    }
    line.append(0x0A)
    _ = unsafe Glibc.write(file?.descriptor ?? 2, line, line.count)
  }
}
