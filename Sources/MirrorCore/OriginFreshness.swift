// How fresh an answer says it is: header values and times in, lifetime, age and duties out (RFC 9111, for a private
// cache).
import MirrorPlatform
import MirrorStore

/// What an answer says of its own freshness.
///
/// This is a private cache: `s-maxage` and `proxy-revalidate` are not for it, `private` is no hindrance, and `public`
/// says nothing new (§5.2.2.7, §5.2.2.8, §5.2.2.9, §5.2.2.10).
struct OriginFreshness: Hashable {
  struct Duties: OptionSet, Hashable {
    let rawValue: UInt8
    static let noStore = Duties(rawValue: 1)
    static let noCache = Duties(rawValue: 2)
    static let mustRevalidate = Duties(rawValue: 4)
    /// RFC 8246 §2: no validation while fresh, even where a user reloads. Nothing here validates what is fresh.
    static let immutable = Duties(rawValue: 8)
    /// The lifetime ends at a date, which a later confirmation does not move.
    static let endsAtDate = Duties(rawValue: 16)
  }

  /// Seconds; nil where nothing says.
  private(set) var lifetime: Int32?
  /// Its age when it was asked for, seconds: what caches on the way had it for.
  private(set) var age: Int32 = 0
  private(set) var staleWhileRevalidate: Int32?
  private(set) var staleIfError: Int32?
  private(set) var duties: Duties = []

  /// Nil where an answer says nothing that counts. `delay` is the time from the request to the answer's head, which
  /// came at `received`.
  init?(_ fields: CachingFields, delay: Duration, received: WallTime) {
    let control = CacheControl(fields.cacheControl ?? "")
    let date = fields.date.flatMap { Timestamp(anyHTTPDate: $0, near: received)?.seconds }
    takeDirectives(control)
    if let seconds = control.seconds("max-age") {
      lifetime = seconds  // §4.2.1, §5.3: max-age has precedence over Expires.
    } else if let text = fields.expires {
      // §4.2.1: Expires minus Date. §5.3: a date that can't be read, "0" above all, lies in the past.
      let end = Timestamp(anyHTTPDate: text, near: received)?.seconds
      lifetime = end.map { Int32(clamping: max(0, $0 - (date ?? received.seconds))) } ?? 0
      duties.insert(.endsAtDate)
    }
    age = Self.age(fields, date: date, delay: delay, received: received, hasLifetime: lifetime != nil)
    if saysNothing { return nil }
  }

  private mutating func takeDirectives(_ control: CacheControl) {
    // §5.2.2.3: who understands the status, as we do, need not mind the no-store beside must-understand.
    if control.has("no-store"), !control.has("must-understand") { duties.insert(.noStore) }
    // §5.2.2.4: also where it is only for some fields, which is what most caches do.
    if control.has("no-cache") { duties.insert(.noCache) }
    if control.has("must-revalidate") { duties.insert(.mustRevalidate) }
    if control.has("immutable") { duties.insert(.immutable) }
    staleWhileRevalidate = control.seconds("stale-while-revalidate")  // RFC 5861 §3
    staleIfError = control.seconds("stale-if-error")  // RFC 5861 §4
  }

  /// §4.2.3: the larger of Age and what Date tells; the delay is counted already by those who count from the request.
  private static func age(
    _ fields: CachingFields, date: Int64?, delay: Duration, received: WallTime, hasLifetime: Bool
  ) -> Int32 {
    // §5.1: of a list the first; what is no number is not there.
    let told = fields.age?.split(separator: ",", omittingEmptySubsequences: false).first
      .flatMap { deltaSeconds($0.drop { $0 == " " }.prefix { $0 != " " }) }
    // Our own default lifetime does not depend on clocks that agree.
    guard hasLifetime, let date else { return told ?? 0 }
    let apparent = max(0, received.seconds - date) - delay.components.seconds
    return max(told ?? 0, Int32(clamping: apparent))
  }

  private var saysNothing: Bool {
    lifetime == nil && age == 0 && staleWhileRevalidate == nil && staleIfError == nil && duties.isEmpty
  }

  /// §4.3.4: a 304 renews the age; a lifetime that it does not speak of stays.
  func renewed(by fields: CachingFields, delay: Duration, received: WallTime) -> OriginFreshness {
    var renewed = self
    let date = fields.date.flatMap { Timestamp(anyHTTPDate: $0, near: received)?.seconds }
    renewed.age = Self.age(fields, date: date, delay: delay, received: received, hasLifetime: lifetime != nil)
    return renewed
  }
}

extension OriginFreshness {
  /// It must be asked for at every use (§5.2.2.4), and a copy that may not be kept is never at hand (§5.2.2.5).
  var asksAlways: Bool { !duties.isDisjoint(with: [.noCache, .noStore]) }

  /// §4.2.4: what must not be used without a word of the origin once it is stale.
  var forbidsStale: Bool { !duties.isDisjoint(with: [.noCache, .noStore, .mustRevalidate]) }

  /// How long it is fresh, counted from `validated`, when the origin last vouched for it, in an answer that was
  /// `asked` for then or in a listing since. `otherwise` where it does not say.
  func lifetime(validated: Instant, asked: Instant, otherwise: Duration) -> Duration {
    if asksAlways || validated == .distantPast { return .zero }
    // A listing comes from the origin itself: it has no age.
    let age = Duration.seconds(validated > asked ? 0 : self.age)
    guard let lifetime else { return max(.zero, otherwise - age) }
    if duties.contains(.endsAtDate) {
      return max(.zero, asked + .seconds(Int64(lifetime) - Int64(self.age)) - validated)
    }
    return max(.zero, .seconds(lifetime) - age)
  }
}

// MARK: As text
extension OriginFreshness: CustomStringConvertible {
  /// In the words of Cache-Control, and `expires-in` and `age` for what other fields say.
  var description: String {
    var words: [String] = []
    if let lifetime { words.append("\(duties.contains(.endsAtDate) ? "expires-in" : "max-age")=\(lifetime)") }
    for (duty, name) in Self.names where duties.contains(duty) { words.append(name) }
    if let staleWhileRevalidate { words.append("stale-while-revalidate=\(staleWhileRevalidate)") }
    if let staleIfError { words.append("stale-if-error=\(staleIfError)") }
    if age > 0 { words.append("age=\(age)") }
    return words.joined(separator: ", ")
  }

  private static let names: [(Duties, String)] = [
    (.noStore, "no-store"), (.noCache, "no-cache"), (.mustRevalidate, "must-revalidate"), (.immutable, "immutable"),
  ]

  /// From a description.
  init?(_ control: CacheControl) {
    takeDirectives(control)
    lifetime = control.seconds("max-age")
    if let seconds = control.seconds("expires-in") {
      lifetime = seconds
      duties.insert(.endsAtDate)
    }
    age = control.seconds("age") ?? 0
    if saysNothing { return nil }
  }
}

/// What an object said, and when it was asked.
struct StatedFreshness: Hashable {
  var freshness: OriginFreshness
  var asked: Instant

  init(_ freshness: OriginFreshness, asked: Instant) {
    self.freshness = freshness
    self.asked = asked
  }

  /// A form that outlives the process; `wall` turns instants into stamps.
  func text(_ wall: (Instant) -> WallTime) -> String {
    // Where no age counts, the time of the question doesn't either, and the text stays the same for ever.
    let dated = freshness.age > 0 || freshness.duties.contains(.endsAtDate)
    return "\(freshness)" + (dated ? ", at=\(wall(asked).milliseconds)" : "")
  }

  /// Nil for the text of nothing.
  init?(_ text: String, _ instant: (WallTime) -> Instant) {
    let control = CacheControl(text)
    guard let freshness = OriginFreshness(control) else { return nil }
    let stamp = control.directives.first { $0.name == "at" }?.argument.flatMap { Int64($0) }
    self.init(freshness, asked: stamp.map { instant(WallTime(milliseconds: $0)) } ?? .distantPast)
  }
}
