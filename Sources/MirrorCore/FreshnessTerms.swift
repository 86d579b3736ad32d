// What holds for one file: the rule for its path and, under `origin`, what the object says.
import MirrorPlatform

struct FreshnessTerms: Equatable {
  /// From when the origin vouched for it.
  var lifetime: Duration
  /// How long after that it may be used at once, while the origin is asked (RFC 5861 §3).
  var staleWhileRevalidate: Duration
  /// How long after that it may be used when the origin can't be asked (RFC 5861 §4); nil: for ever.
  var staleIfError: Duration?
  /// Only an answer for the object itself makes it fresh: a listing does not tell what must be known.
  var needsOwnAnswer = false

  /// Under `origin`, of an object that spoke: its lifetime; of two bounds the tighter. What it forbids is forbidden.
  func stated(_ stated: StatedFreshness, validated: Instant) -> FreshnessTerms {
    let freshness = stated.freshness
    var terms = self
    terms.lifetime = freshness.lifetime(validated: validated, asked: stated.asked, otherwise: lifetime)
    terms.needsOwnAnswer = freshness.asksAlways
    terms.staleWhileRevalidate = Self.tighter(givenWhileRevalidate, freshness.staleWhileRevalidate) ?? .zero
    terms.staleIfError = Self.tighter(staleIfError, freshness.staleIfError)
    if freshness.forbidsStale { (terms.staleWhileRevalidate, terms.staleIfError) = (.zero, .zero) }
    return terms
  }

  /// Under `origin`, of a copy whose headers nobody remembers: it must be asked for.
  var untold: FreshnessTerms {
    var terms = self
    (terms.lifetime, terms.staleWhileRevalidate, terms.needsOwnAnswer) = (.zero, .zero, true)
    return terms
  }

  /// The bound as the rules give it; nil: they don't.
  private let givenWhileRevalidate: Duration?

  init(lifetime: Duration, staleWhileRevalidate: Duration?, staleIfError: Duration?) {
    self.lifetime = lifetime
    givenWhileRevalidate = staleWhileRevalidate
    self.staleWhileRevalidate = staleWhileRevalidate ?? .zero
    self.staleIfError = staleIfError
  }

  private static func tighter(_ given: Duration?, _ stated: Int32?) -> Duration? {
    guard let stated else { return given }
    return min(given ?? .seconds(stated), .seconds(stated))
  }
}
