// What a refused request may change before it is asked once again: region, host, clock, keys; each at most so often.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// The corrections made for one logical request.
struct Correction {
  /// SDKs speak of a clock that is off from here on.
  static let noticeableGap = Duration.seconds(240)

  private var didChangeRegion = false
  private var didChangeClock = false
  private var didReloadKeys = false
  private var redirects = 0
  /// Where a 307 pointed.
  private(set) var redirected: Target?

  enum Step {
    case none
    case region(String)
    case redirect
    case clock(Duration)
    /// They may be old; not certain where nothing says why they were refused.
    case keys(Identity, isCertain: Bool)
  }

  /// The next thing to try after `refusal` of a request that was sent to `target`.
  mutating func step(
    after refusal: Refusal, question: Question, target: Target, endpoint: Endpoint, identity: Identity,
    clockOffset: Duration, now: WallTime
  ) -> Step {
    if let region = refusal.region, region != target.region, !didChangeRegion {
      didChangeRegion = true
      redirected = nil
      return .region(region)
    }
    if refusal.head.status == 307, redirects < 2, let next = Self.target(refusal, from: target, endpoint: endpoint) {
      redirects += 1
      redirected = next
      return .redirect
    }
    guard identity.credentials != nil else { return .none }
    if let gap = refusal.clockGap(now: now), !didChangeClock, Self.mayBeClock(refusal, question) {
      let error = gap - clockOffset
      let isOff = error >= Self.noticeableGap || error <= .zero - Self.noticeableGap
      if isOff || (clockOffset != .zero && S3ErrorCode.meaning(refusal.code) == .clockSkew) {
        didChangeClock = true
        let isNoticeable = gap >= Self.noticeableGap || gap <= .zero - Self.noticeableGap
        return .clock(isNoticeable ? gap : .zero)
      }
    }
    let isBare = Self.isBareRefusal(refusal, question)
    if !didReloadKeys, S3ErrorCode.mayBeOldKeys(refusal.code) || isBare {
      didReloadKeys = true
      // Of an old token a HEAD says 400; 403 is what a policy says, too.
      return .keys(identity, isCertain: !isBare || refusal.head.status == 400)
    }
    return .none
  }

  private static func mayBeClock(_ refusal: Refusal, _ question: Question) -> Bool {
    S3ErrorCode.mayBeClock(refusal.code) || isBareRefusal(refusal, question)
  }

  /// A HEAD that is refused says nothing of why.
  private static func isBareRefusal(_ refusal: Refusal, _ question: Question) -> Bool {
    question.method == .head && (refusal.head.status == 403 || refusal.head.status == 400)
  }

  /// The place a Location names, if credentials may go there; the query stays ours.
  private static func target(_ refusal: Refusal, from target: Target, endpoint: Endpoint) -> Target? {
    guard let location = refusal.head.text("location"), let parsed = try? HostAddress.parse(url: location),
      endpoint.mayRedirect(to: parsed.address)
    else { return nil }
    var next = target
    next.address = parsed.address
    next.path = "/" + percentEncoded(percentDecoded(parsed.path.utf8.dropFirst(), form: false), keepingSlash: true)
    return next
  }
}
