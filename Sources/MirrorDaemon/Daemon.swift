// Going into the background: the parent runs this program again, detached, and leaves when that one is ready.
import MirrorPlatform

/// What the detached process tells the one that started it: ready, or why not.
public struct ReadinessReport: Sendable {
  private static let variable = "S3MIRROR_REPORT"
  private static let ready = "OK"
  private let channel: File?

  init(channel: File?) { self.channel = channel }

  /// The report that this process owes; nil when it was not started by `startDetached`.
  public static func owed() -> ReadinessReport? {
    guard ThisProcess.environment(variable) != nil else { return nil }
    // Programs that this one runs are not to think the same of themselves.
    ThisProcess.setEnvironment(variable, nil)
    return ThisProcess.inherited(descriptor: 3).map { ReadinessReport(channel: $0) }
  }

  /// For a mount in the foreground, where nobody waits.
  public static let unread = ReadinessReport(channel: nil)

  /// Whether somebody still waits for it; the parent may have been interrupted.
  func sayReady() -> Bool { send(Self.ready) }

  func sayFailed(_ failure: CommandFailure) { _ = send("\(failure.code.rawValue) \(failure.message)") }

  private func send(_ text: String) -> Bool {
    guard let channel else { return true }
    do throws(Errno) { try channel.writeSequential(Array(text.utf8)) } catch { return false }
    return true
  }

  /// Runs this program again with the same arguments and waits for its report.
  public static func startDetached() throws(CommandFailure) {
    let child: Int32
    let text: String
    do throws(Errno) {
      let (reading, child_) = try spawn()
      child = child_
      text = try everything(from: reading)
    } catch {
      throw CommandFailure(.failure, "can't start the background process: \(error)")
    }
    if text == ready { return }
    let code = (try? ThisProcess.waitForChild(child)) ?? 1
    guard let failure = parse(text) else {
      throw CommandFailure(
        .failure,
        "the background process ended before it was ready (\(code > 128 ? "signal \(code - 128)" : "exit code \(code)")); see its log, or try --foreground"
      )
    }
    throw failure
  }

  private static func spawn() throws(Errno) -> (File, Int32) {
    let (reading, writing) = try ThisProcess.pipe()
    ThisProcess.setEnvironment(variable, "1")
    defer { ThisProcess.setEnvironment(variable, nil) }
    return (reading, try ThisProcess.spawnAgain(report: writing))
  }

  /// Reads until the other process has reported or ended.
  static func everything(from channel: File) throws(Errno) -> String {
    var bytes: [UInt8] = []
    while true {
      let part = try channel.readSequential(count: 4096)
      bytes += part
      if part.isEmpty || bytes == Array(ready.utf8) { return String(decoding: bytes, as: UTF8.self) }
    }
  }

  static func parse(_ text: String) -> CommandFailure? {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let number = Int32(parts[0]), let code = ExitCode(rawValue: number) else { return nil }
    return CommandFailure(code, String(parts[1]))
  }
}
