// Freshness: rules as they are written, patterns against a plain matcher, what headers say, times of earlier runs.
import MirrorCache
import MirrorPlatform
import MirrorStore

private let wall = WallTime(seconds: 1_700_000_000)
private let now = Instant(nanoseconds: 1 << 50)

public func fuzzRules(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  switch input.byte() % 4 {
  case 0: fuzzPatterns(&input)
  case 1: fuzzHeaders(&input)
  case 2: fuzzTimes(&input)
  default: fuzzWritten(&input)
  }
}

private func fuzzPatterns(_ input: inout FuzzInput) {
  let written = String(decoding: input.part(upTo: 0xFF), as: UTF8.self)
  let path = input.rest()
  let glob = Glob(written)
  let matches = glob.matches(path[...])
  promise(Glob(written).matches(path[...]) == matches, "a pattern matches or does not")
  var pattern = Array(written.utf8)
  if pattern.count > 1, pattern.last == 0x2F { pattern.removeLast() }
  let isAnchored = pattern.contains(0x2F)
  if pattern.first == 0x2F { pattern.removeFirst() }
  let text = isAnchored ? path[...] : path[(path.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...]
  if !Glob.isPattern(pattern) {
    promise(matches == text.elementsEqual(pattern), "without special characters it means itself")
  }
  var plain = PlainMatcher(pattern: pattern, text: Array(text))
  promise(plain.matches(0, 0) == matches, "as a plain matcher has it")
  _ = KeyPattern(ObjectKey(Array(written.utf8)))?.matches(ObjectKey(path))
}

/// The meaning of a pattern, position by position, each asked once.
private struct PlainMatcher {
  let pattern: [UInt8]
  let text: [UInt8]
  private var known: [Int: Bool] = [:]

  init(pattern: [UInt8], text: [UInt8]) {
    self.pattern = pattern
    self.text = text
  }

  mutating func matches(_ p: Int, _ t: Int) -> Bool {
    let place = p * (text.count + 1) + t
    if let answer = known[place] { return answer }
    let answer = decide(p, t)
    known[place] = answer
    return answer
  }

  private mutating func decide(_ p: Int, _ t: Int) -> Bool {
    guard p < pattern.count else { return t == text.count }
    if pattern[p] == 0x2A {
      var end = p
      while end < pattern.count, pattern[end] == 0x2A { end += 1 }
      let crosses = end - p > 1
      let isSlash = end < pattern.count && pattern[end] == 0x2F
      // `**/` is no directory at all, too; also at the end of a path.
      if crosses, isSlash {
        if matches(end + 1, t) { return true }
      }
      var at = t
      while true {
        if matches(end, at) { return true }
        guard at < text.count, crosses || text[at] != 0x2F else { return false }
        at += 1
      }
    }
    guard t < text.count else { return false }
    if pattern[p] == 0x3F { return text[t] != 0x2F && matches(p + 1, t + 1) }
    if pattern[p] == 0x5B, let (isIn, next) = bracket(p, text[t]) { return isIn && matches(next, t + 1) }
    return pattern[p] == text[t] && matches(p + 1, t + 1)
  }

  private func bracket(_ p: Int, _ byte: UInt8) -> (Bool, Int)? {
    var first = p + 1
    let isNegated = first < pattern.count && (pattern[first] == 0x21 || pattern[first] == 0x5E)
    if isNegated { first += 1 }
    // The first member may be the closing bracket itself.
    guard first < pattern.count, let close = pattern[(first + 1)...].firstIndex(of: 0x5D) else { return nil }
    var isIn = false
    var at = first
    while at < close {
      if at + 2 < close, pattern[at + 1] == 0x2D {
        if pattern[at] <= pattern[at + 2] {
          isIn = isIn || (pattern[at] <= byte && byte <= pattern[at + 2])
        } else {
          isIn = isIn || byte == pattern[at]
        }
        at += 3
      } else {
        isIn = isIn || byte == pattern[at]
        at += 1
      }
    }
    return (isIn != isNegated && byte != 0x2F, close + 1)
  }
}

private func fuzzHeaders(_ input: inout FuzzInput) {
  func field() -> String? {
    let bytes = input.part(upTo: 0x0A)
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
  let fields = CachingFields(cacheControl: field(), expires: field(), age: field(), date: field())
  guard let said = OriginFreshness(fields, delay: .milliseconds(Int64(input.byte())), received: wall) else { return }
  promise(OriginFreshness(CacheControl(said.description)) == said, "in its own words it says the same")
  let stated = StatedFreshness(said, asked: now)
  var effects = Effects()
  effects.clocks = (now, wall)
  let again = StatedFreshness(stated.text { effects.wall($0) }) { effects.instant($0) }
  promise(again?.freshness == said, "what is remembered is what was said")
  let rules = FreshnessRules()
  let terms = rules.terms(rules.rule(of: [])).stated(stated, validated: now)
  promise(terms.lifetime >= .zero, "no lifetime is negative")
  if said.asksAlways { promise(terms.lifetime == .zero && terms.needsOwnAnswer, "no-cache asks at every use") }
  if said.forbidsStale { promise(terms.staleIfError == .zero, "what forbids it is never served stale") }
  let renewed = said.renewed(
    by: CachingFields(age: field(), date: field()), delay: .zero, received: wall)
  promise(renewed.lifetime == said.lifetime, "a 304 that says nothing of the lifetime leaves it")
}

private func fuzzTimes(_ input: inout FuzzInput) {
  let stamp = WallTime(milliseconds: input.number())
  var effects = Effects()
  effects.clocks = (now, wall)
  let instant = effects.instant(stamp)
  promise(instant <= now, "a stamp is never fresher than now")
  _ = stamp - wall
  _ = wall - stamp
  _ = Timestamp(seconds: stamp.seconds).rfc3339
  let text = input.rest()
  _ = StatedFreshness(String(decoding: text, as: UTF8.self)) { effects.instant($0) }
  let posix = PosixMetadata(text: String(decoding: text, as: UTF8.self))
  promise(PosixMetadata(text: posix.text) == posix, "what is described comes back")
}

private func fuzzWritten(_ input: inout FuzzInput) {
  let text = String(decoding: input.part(upTo: 0x0A), as: UTF8.self)
  var rules = FreshnessRules()
  do throws(RuleError) {
    try rules.add(text)
    var again = FreshnessRules()
    try again.add(rules.uniform?.text ?? text)
    let path = input.rest()
    let rule = rules.rule(of: path[...])
    promise(rules.terms(rule).lifetime >= .zero, "no lifetime is negative")
    promise(rules.listingLifetime(rules.rule(ofDirectory: path[...])) >= .zero, "nor that of a listing")
    promise(FreshnessRules.isForAll(text) == (rules.uniform != nil), "a rule is for all paths or for some")
  } catch { promise(!error.message.isEmpty, "a mistake is told in words") }
  if let duration = parseDuration(text) {
    promise(duration >= .zero && parseDuration(formatDuration(duration)) != nil, "a duration can be written again")
  }
  if let size = ByteCount(parsing: text) {
    promise(size.bytes >= 0, "no size is negative")
    _ = size.description
  }
  if let budget = try? BudgetLimit(parsing: text) {
    promise((try? BudgetLimit(parsing: budget.description)) != nil, "a budget can be written again")
  }
  var prices = Prices()
  try? prices.set(text)
}
