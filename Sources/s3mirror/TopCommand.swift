// `top`: looks at the mounts again and again, and shows what changes.
import MirrorDaemon
import MirrorPlatform

enum TopCommand {
  static let options = [
    ("--once", "one frame and no more; so it is too where the output is no terminal"),
    ("--interval DURATION", "between two looks (default 1s)"),
  ]

  static let run: @Sendable ([[UInt8]]) throws(CommandFailure) -> ExitCode = { (arguments) throws(CommandFailure) in
    let words = try Words(arguments, of: "top", flags: ["once"], values: ["interval"])
    var watch = TopWatch(only: nil)
    if !words.positionals.isEmpty {
      let path = String(decoding: try words.one("MOUNTPOINT", of: "top"), as: UTF8.self)
      watch = TopWatch(only: try RunningMounts.at(path))
    }
    var interval = Duration.seconds(1)
    if let text = words.values["interval"] {
      guard let given = parseDuration(text), given >= .milliseconds(100) else {
        throw CommandFailure(.usage, "option '--interval \(text)': a duration of 100ms or more")
      }
      interval = given
    }
    watch.look()
    if words.flags.contains("once") || !ThisProcess.isTerminal() {
      let size = Terminal.size
      emit(watch.frame(width: size?.columns ?? 80, height: size?.rows ?? 1000).map { $0 + "\n" }.joined())
      return .done
    }
    show(&watch, every: interval)
    return .done
  }

  private static func show(_ watch: inout TopWatch, every interval: Duration) {
    TerminationSignals.block()
    startThread("signals") {
      _ = TerminationSignals.wait()
      Terminal.end()
      ThisProcess.endAtOnce(ExitCode.done.rawValue)
    }
    Terminal.begin()
    defer { Terminal.end() }
    let clock = SystemClock()
    while true {
      let size = Terminal.size ?? (80, 24)
      Terminal.show(watch.frame(width: size.columns, height: size.rows))
      let next = clock.now() + interval
      while clock.now() < next {
        switch Terminal.key(within: next - clock.now()) {
        // q, Q, Escape, Control-C, Control-D
        case .byte(0x71), .byte(0x51), .byte(0x1B), .byte(0x03), .byte(0x04), .ended: return
        case .byte, .none: break
        }
      }
      watch.look()
    }
  }
}

/// The latest two looks.
private struct TopWatch {
  private let only: RunningMount?
  private var mounts: [MountSample] = []
  private var before: [MountSample] = []

  init(only: RunningMount?) { self.only = only }

  mutating func look() {
    before = mounts
    mounts = (only.map { [$0] } ?? RunningMounts.all()).compactMap { mount in
      guard let text = try? mount.ask(ControlRequest(.statusJSON)), let json = JSON(parsing: Array(text.utf8)) else {
        return nil
      }
      return MountSample(json, at: SystemClock().now())
    }
  }

  func frame(width: Int, height: Int) -> [String] {
    TopScreen(mounts, before: before, wall: SystemClock().wall()).lines(width: width, height: height)
  }
}
