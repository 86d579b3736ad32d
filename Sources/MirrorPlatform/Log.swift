// The log: one line an event, to standard error, the journal or a file, with repeats held back.
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
    /// All names, for messages.
    public static var names: String { allCases.map(\.name).joined(separator: ", ") }
    /// Of syslog(3) and sd-daemon(3): 3 for errors to 7 for what only helps to debug.
    var priority: Int { rawValue + 3 }
  }

  private struct Repeats {
    var lastWritten: [String: Instant] = [:]
    var heldBack: [String: Int] = [:]
    var once: Set<String> = []
  }

  private let file: LogFile?
  private let isJournal: Bool
  private let threshold: Atomic<Int>
  private let silent: Bool
  private let clock: any Clock
  private let repeats = Mutex(Repeats())

  /// Writes to `path` (appending, mode 0600; see `LogFile` for its length) or, without one, to standard error.
  public init(
    path: String? = nil, level: Level = .notice, clock: any Clock = SystemClock(), limit: Int64 = LogFile.usualLimit
  ) throws(Errno) {
    threshold = Atomic(level.rawValue)
    silent = false
    self.clock = clock
    file = if let path { try LogFile(path, limit: limit) } else { nil }
    isJournal = path == nil && Journal.isStandardError
  }

  /// A log that writes nothing.
  public static let none = Log()
  private init() {
    file = nil
    isJournal = false
    threshold = Atomic(Level.error.rawValue)
    clock = SystemClock()
    silent = true
  }

  /// What is less grave than this is not written; it may change at any time.
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
    let line = Self.line(level, message(), at: clock.wall(), isJournal: isJournal)
    if let file { file.append(line) } else { emit(line, toErrors: true) }
  }

  /// A message may quote a key: control characters must not forge lines. The journal has stamps of its own.
  static func line(_ level: Level, _ message: String, at time: WallTime, isJournal: Bool) -> [UInt8] {
    let stamp = Timestamp(seconds: time.seconds).rfc3339
    var line = Array((isJournal ? "<\(level.priority)>" : "\(stamp) \(level.name): ").utf8)
    for byte in message.utf8 {
      line += byte < 0x20 || byte == 0x7F ? Array("\\x\(hexadecimal([byte]))".utf8) : [byte]
    }
    line.append(0x0A)
    return line
  }
}
