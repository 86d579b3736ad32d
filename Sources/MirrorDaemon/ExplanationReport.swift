// What `explain` says of one path, as JSON for scripts and as text for people.
public import MirrorCore
import MirrorPlatform
import MirrorStore

public struct ExplanationReport: Sendable {
  private let explanation: Explanation
  /// Why the budget would not let the next request through; nil: it would.
  private let refusal: String?
  /// The time that the mount shows, RFC 3339; nil: the present.
  private let view: String?

  public init(_ explanation: Explanation, refusal: String? = nil, view: String? = nil) {
    self.view = view
    self.explanation = explanation
    self.refusal = refusal
  }

  var json: JSON {
    .object(
      (view.map { [("at", .string($0))] } ?? []) + [
        keyMember(explanation.key), ("verdict", .string(explanation.verdict.rawValue)),
        ("rule", .string(explanation.rule)), ("said", explanation.said.map { .string($0) } ?? .null),
        ("lifetime", .decimal(explanation.lifetime.secondsValue, places: 3)),
        ("age", explanation.age.map { .decimal($0.secondsValue, places: 3) } ?? .null),
        ("size", explanation.size.map { .int($0) } ?? .null),
        ("etag", explanation.etag.map { .string($0.description) } ?? .null), ("cached", .bool(explanation.isCached)),
        ("nextRequest", explanation.nextRequest.map { .string($0) } ?? .null),
        ("nextCost", .decimal(explanation.nextCost, places: 7)), ("refusal", refusal.map { .string($0) } ?? .null),
      ])
  }

  var text: String {
    let lifetime = Lifetime.forever.duration <= explanation.lifetime ? "ever" : formatDuration(explanation.lifetime)
    let size = explanation.size.map { "\(ByteCount($0))\(explanation.isCached ? ", cached" : "")" }
    let age = explanation.age.map { "\(formatDuration($0)), fresh for \(lifetime)" }
    let next = explanation.nextRequest.map { "\($0) (\(decimal(explanation.nextCost, places: 7)) USD)" }
    var rows = [
      ("key", quoted(explanation.key.description)), ("verdict", explanation.verdict.rawValue),
      ("rule", explanation.rule),
    ]
    if let view { rows.append(("shown", "as it was at \(view)")) }
    if let said = explanation.said { rows.append(("object", said.isEmpty ? "says nothing of its freshness" : said)) }
    rows.append(("age", age ?? "never validated"))
    guard explanation.verdict != .directory else { return Self.text(rows) }
    rows += [
      ("size", size ?? "unknown"), ("etag", explanation.etag?.description ?? "none"),
      ("next open", next ?? "asks nothing"),
    ]
    if let refusal { rows.append(("budget", refusal)) }
    return Self.text(rows)
  }

  private static func text(_ rows: [(String, String)]) -> String {
    return rows.map { "\(padded($0.0, to: 9)) \($0.1)\n" }.joined()
  }
}

/// A name for a terminal: control characters could do more there than be seen.
public func quoted(_ text: String) -> String {
  text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) } ? JSON.string(text).text : text
}
