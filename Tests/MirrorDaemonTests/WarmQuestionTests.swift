import MirrorCore
import MirrorDaemon
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1))) struct WarmQuestionTests {
  @Test func `targets arrive as they were named, whatever bytes they hold`() {
    let targets = [
      WarmTarget([0x61, 0x0A, 0xFF, 0x2A]), WarmTarget(Array("a/**".utf8), isPattern: true), WarmTarget([]),
    ]
    for isDry in [true, false] {
      let question = WarmQuestion(targets, isDry: isDry)
      #expect(WarmQuestion(encoded: question.encoded) == question)
    }
  }

  @Test(arguments: [true, false])
  func `progress never goes back, and ends at 100 %`(_ isTerminal: Bool) {
    var pieces: [String] = []
    var bar = ProgressBar(isTerminal: isTerminal) { pieces.append($0) }
    bar.show(ControlStep(), at: Instant(nanoseconds: 0))
    for (objects, bytes) in [(0, 0), (1, 400), (1, 300), (2, 995), (3, 1000)] as [(Int, Int64)] {
      var step = ControlStep(objects: 3, bytes: 1000)
      (step.doneObjects, step.doneBytes) = (objects, bytes)
      bar.show(step, at: Instant(nanoseconds: bytes * 1_000_000_000))
    }
    bar.end()
    let percents = pieces.compactMap { $0.split(separator: " %").first?.split(separator: " ").last }.compactMap {
      Int($0)
    }
    #expect(percents == (isTerminal ? [0, 40, 40, 99, 100] : [0, 40, 99, 100]))
    #expect(pieces.last?.hasSuffix("\n") == true)
  }
}
