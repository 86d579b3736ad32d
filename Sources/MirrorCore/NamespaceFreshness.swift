// How fresh what the namespace knows is: rules, ages, and what objects said of themselves.
import MirrorCache
import MirrorPlatform
import MirrorStore

extension Namespace {
  /// What objects said is kept of so many; those that are forgotten must be asked for.
  static let largestStated = 100_000

  // MARK: Rules

  func rule(_ directory: Int, _ name: ArraySlice<UInt8>) -> FreshnessRule {
    rules.uniform ?? rules.rule(of: path(directory, name))
  }

  func listingRule(_ directory: Int) -> FreshnessRule {
    rules.uniform ?? rules.rule(ofDirectory: directories[directory].key[prefixLength...].dropLast())
  }

  /// What holds for a file.
  func terms(_ directory: Int, _ slot: Int) -> FreshnessTerms {
    let rule = rule(directory, directories[directory].table.name(slot))
    let plain = rules.terms(rule)
    guard rule.lifetime == .origin else { return plain }
    let entry = directories[directory].table[slot]
    switch entry.stated {
    case .nothing: return plain
    case .something:
      guard let stated = stated[FileID(directory, slot)] else { return plain.untold }
      return plain.stated(stated, validated: entry.validated)
    case .unknown:
      // Of what was never fetched there is nothing to reuse: that it exists is the listing's word, and fresh like it.
      return entry.cached || !entry.recalled ? plain.untold : plain
    }
  }

  // MARK: Lifetimes and ages

  /// From when the origin vouched for it.
  func lifetime(_ directory: Int, _ slot: Int) -> Duration { terms(directory, slot).lifetime }

  func listingLifetime(_ directory: Int) -> Duration { rules.listingLifetime(listingRule(directory)) }

  func negativeLifetime(_ id: NameID) -> Duration { rules.negative(rule(id.directory, id.name[...])) }

  func hasFreshListing(_ directory: Int, _ now: Instant) -> Bool {
    directories[directory].hasListing && now < directories[directory].listed + listingLifetime(directory)
  }

  func isFresh(_ directory: Int, _ slot: Int, _ now: Instant) -> Bool {
    let entry = directories[directory].table[slot]
    return !entry.isExpired && (now < entry.validated + lifetime(directory, slot) || now < entry.answered + Self.grace)
  }

  /// Since the origin vouched for it, and what the answer was old by then; nil: never.
  func age(_ directory: Int, _ slot: Int, _ now: Instant) -> Duration? {
    let entry = directories[directory].table[slot]
    guard entry.validated != .distantPast else { return nil }
    guard let stated = stated[FileID(directory, slot)], entry.validated <= stated.asked else {
      return now - entry.validated
    }
    return now - entry.validated + .seconds(stated.freshness.age)
  }

  // MARK: Stale answers

  /// A stale answer may be given: the rules bound its age (stale-if-error, RFC 5861 §4).
  func mayServeStale(_ directory: Int, _ slot: Int, _ now: Instant) -> Bool {
    let entry = directories[directory].table[slot]
    guard entry.kind == .file else { return false }
    let terms = terms(directory, slot)
    guard let bound = terms.staleIfError else { return true }
    return now < entry.validated + terms.lifetime + bound
  }

  /// A stale answer may be given at once while the origin is asked (stale-while-revalidate, RFC 5861 §3).
  func mayServeWhileAsking(_ directory: Int, _ slot: Int, _ now: Instant) -> Bool {
    let entry = directories[directory].table[slot]
    let terms = terms(directory, slot)
    return !entry.isExpired && now < entry.validated + terms.lifetime + terms.staleWhileRevalidate
  }

  /// How long past its lifetime a listing may be shown when the origin can't be asked; nil: for ever.
  func staleListingBound(_ directory: Int) -> Duration? { rules.staleIfError(listingRule(directory)) }

  /// Whether a listing can make a file fresh.
  func isFreshenedByPages(_ id: NameID) -> Bool {
    guard let slot = fileSlot(of: id) else { return true }
    return !terms(id.directory, slot).needsOwnAnswer
  }

  /// no-store: its bytes are kept while they are in use, and no longer.
  func mayNotKeep(_ directory: Int, _ slot: Int) -> Bool {
    guard let stated = stated[FileID(directory, slot)], stated.freshness.duties.contains(.noStore) else { return false }
    return rule(directory, directories[directory].table.name(slot)).lifetime == .origin
  }

  // MARK: What objects say

  /// In words; empty: nothing; nil: not known, or of no account.
  func said(_ directory: Int, _ slot: Int) -> String? {
    guard rule(directory, directories[directory].table.name(slot)).lifetime == .origin else { return nil }
    if directories[directory].table[slot].stated == .nothing { return "" }
    return stated[FileID(directory, slot)].map { "\($0.freshness)" }
  }

  /// An answer for a file's current revision came; `confirmed` when it was a 304. Returns whether its bytes may be kept.
  @discardableResult
  mutating func noteStated(
    _ directory: Int, _ slot: Int, _ fields: CachingFields, asked: Instant, confirmed: Bool = false
  ) -> Bool {
    guard rules.readsOrigin else { return true }
    let id = FileID(directory, slot)
    let (delay, received) = (effects.clocks.now - asked, effects.clocks.wall)
    var new = OriginFreshness(fields, delay: delay, received: received).map { StatedFreshness($0, asked: asked) }
    let old = stated[id]
    // RFC 9111 §3.2, §4.3.4: what a 304 does not mention stays as it was.
    if confirmed, fields.cacheControl == nil, fields.expires == nil, let old {
      let renewed = old.freshness.renewed(by: fields, delay: delay, received: received)
      new = old.freshness.duties.contains(.endsAtDate) ? old : StatedFreshness(renewed, asked: asked)
    }
    let isNews = directories[directory].table[slot].stated == .unknown || new != old
    setStated(directory, slot, new)
    if isNews {
      let text = new?.text(effects.wall) ?? ""
      if text != old?.text(effects.wall) { effects.changes.append(.said(key(directory, slot), text)) }
    }
    return !mayNotKeep(directory, slot)
  }

  /// What the catalogue remembers of an answer.
  mutating func rememberStated(_ directory: Int, _ slot: Int, _ text: String?) {
    guard rules.readsOrigin, let text, directories[directory].table[slot].stated == .unknown else { return }
    setStated(directory, slot, StatedFreshness(text, effects.instant))
  }

  private mutating func setStated(_ directory: Int, _ slot: Int, _ new: StatedFreshness?) {
    if new != nil, stated.count >= Self.largestStated { forgetStated() }
    stated[FileID(directory, slot)] = new
    directories[directory].table.update(slot) { $0.stated = new == nil ? .nothing : .something }
  }

  private mutating func forgetStated() {
    for id in stated.keys {
      directories[Int(id.directory)].table.update(Int(id.slot)) { $0.stated = .unknown }
    }
    stated = [:]
  }
}
