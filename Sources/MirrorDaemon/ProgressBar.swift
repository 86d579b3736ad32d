// How far a long command has come: a bar on a terminal, now and then a line elsewhere; never backwards.
public import MirrorPlatform

public struct ProgressBar {
  private static let width = 20

  private let isTerminal: Bool
  private let isQuietElsewhere: Bool
  private let write: (String) -> Void
  private var begun: Instant?
  private var shown = -1
  private var isDrawn = false

  /// `isQuietElsewhere`: nothing is told where there is no terminal.
  public init(isTerminal: Bool, isQuietElsewhere: Bool = false, write: @escaping (String) -> Void) {
    self.isTerminal = isTerminal
    self.isQuietElsewhere = isQuietElsewhere
    self.write = write
  }

  public mutating func show(_ step: ControlStep, at now: Instant) {
    guard step.objects > 0, isTerminal || !isQuietElsewhere else { return }
    if begun == nil { begun = now }
    let percent = max(shown, Self.percent(step))
    if !isTerminal {
      // Each tenth of the way.
      if shown >= 0, percent / 10 == shown / 10 { return }
      shown = percent
      return write("\(percent) %: \(Self.counts(step))\n")
    }
    shown = percent
    let filled = percent * Self.width / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
    let seconds = (now - (begun ?? now)).secondsValue
    let rate = seconds > 0.5 ? ", \(ByteCount(Int64(Double(step.doneBytes) / seconds)))/s" : ""
    // What a longer line left behind is cleared.
    write("\r[\(bar)] \(percent) %  \(Self.counts(step))\(rate)\u{1B}[K")
    isDrawn = true
  }

  /// Whatever is written next begins on a line of its own.
  public mutating func end() {
    if isDrawn { write("\n") }
    isDrawn = false
  }

  /// 100 only when all is done with.
  private static func percent(_ step: ControlStep) -> Int {
    if step.doneObjects >= step.objects, step.doneBytes >= step.bytes { return 100 }
    let share =
      step.bytes > 0
      ? Double(step.doneBytes) / Double(step.bytes) : Double(step.doneObjects) / Double(step.objects)
    return max(0, min(99, Int(share * 100)))
  }

  private static func counts(_ step: ControlStep) -> String {
    "\(step.doneObjects) of \(step.objects) objects, \(ByteCount(step.doneBytes)) of \(ByteCount(step.bytes))"
  }
}
