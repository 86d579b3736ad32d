// The configuration file, and what is said over the control socket.
import MirrorCache
import MirrorCore
import MirrorPlatform
import MirrorStore

public func fuzzConfiguration(_ bytes: [UInt8]) {
  let file = ConfigurationFile(path: "c", bytes: bytes)
  let lines = bytes.count { $0 == 0x0A } + 1
  promise(file.problems.allSatisfy { (1...lines).contains($0.place.line) }, "a mistake is on a line of the file")
  promise(file.problems.allSatisfy { !$0.text.isEmpty }, "and told in words")
  if bytes.count & 15 == 0 {
    let again = ConfigurationFile(path: "c", bytes: bytes)
    promise(again.problems.map(\.description) == file.problems.map(\.description), "it reads the same again")
  }
  var settings = MountSettings(source: .none, mountPoint: "m")
  let given = file.sections.flatMap(\.options)
  for option in given.effective() {
    do throws(CommandFailure) { try option.apply(to: &settings) } catch {
      promise(false, "what was taken can be applied")
    }
  }
  promise(settings.rules.lifetime(of: bytes[...]).duration >= .zero, "no lifetime is negative")
  for line in bytes.split(separator: 0x0A).prefix(2) {
    let words = String(decoding: line, as: UTF8.self)
    _ = Substring(words).range(of: "://")
    if let source = try? Source(parsing: words) {
      promise(
        (try? Source(parsing: source.url))?.bucket == source.bucket || source.bucket.hasPrefix("arn:"), "a source")
    }
    _ = WallTime(parsing: words, now: WallTime(seconds: 1_700_000_000))
    _ = MetricsAddress(parsing: words)
  }
}

public func fuzzControl(_ bytes: [UInt8]) {
  if let request = ControlRequest(line: bytes) {
    promise(ControlRequest(line: request.line) == request, "a question comes back as it was")
    let argument = request.argument
    switch request.verb {
    case .warm:
      let question = WarmQuestion(encoded: argument)
      promise(WarmQuestion(encoded: question.encoded) == question, "what is to be warmed comes back")
    case .cost:
      let question = CostQuestion(encoded: argument)
      promise(CostQuestion(encoded: question.encoded) == question, "what is asked of cost comes back")
      _ = try? question.prices(over: Prices())
    case .pin, .unpin:
      let question = PinQuestion(encoded: argument)
      promise(PinQuestion(encoded: question.encoded) == question, "what is pinned comes back")
    case .collect:
      let limits = CareAnswer.limits(argument)
      promise(CareAnswer.limits(CareAnswer.encoded(limits)) == limits, "limits come back")
    default: break
    }
  }
  if let step = ControlStep(line: bytes) {
    promise(ControlStep(line: step.line.dropLast()) == step, "a step comes back as it was")
  }
  if let answer = ControlAnswer(bytes: bytes) {
    promise(ControlAnswer(bytes: answer.bytes) == answer, "an answer comes back as it was")
    if case .text(let text) = answer { _ = CareAnswer(text: text).garbage }
  }
  if let json = JSON(parsing: bytes) { promiseRoundTrip(json) }
  let redacted = Redaction(secrets: ["Wq7-Secret-9"]).applied(to: bytes)
  promise(redacted.firstRange(of: Array("Wq7-Secret-9".utf8)) == nil, "a secret is taken out")
}
