// Which changes are news: messages come more than once, and in any order.

/// Remembers the last change of each key, of so many keys as memory is for. What is forgotten counts as news again, which
/// costs a request and harms nothing.
public struct EventOrder: Sendable {
  private struct Last {
    let sequencer: [UInt8]
    let time: String
  }
  private let capacity: Int
  /// Two generations: when the younger is full, the older is dropped.
  private var recent: [ObjectKey: Last] = [:]
  private var older: [ObjectKey: Last] = [:]

  /// `capacity`: the keys that are remembered at most.
  public init(capacity: Int = 20_000) { self.capacity = max(2, capacity) }

  /// Keys that are remembered.
  public var count: Int { recent.count + older.count }

  /// Whether nothing later, nor the same, was told of its key; that it was told is remembered.
  public mutating func isNews(_ change: KeyChange) -> Bool {
    guard let text = change.sequencer else { return true }
    let sequencer = Array(text.lowercased().utf8)
    if let last = recent[change.key] ?? older[change.key] {
      if Self.precedes(sequencer, last.sequencer) { return false }
      // Some senders give all changes one number; a message that comes twice has the same time too.
      let isSame = !Self.precedes(last.sequencer, sequencer)
      if isSame && change.time == last.time { return false }
    }
    older[change.key] = nil
    recent[change.key] = Last(sequencer: sequencer, time: change.time)
    if recent.count >= capacity / 2 { (older, recent) = (recent, [:]) }
    return true
  }

  /// As text, the shorter one filled up with zeros on the right (S3 User Guide, Event message structure).
  private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let length = max(a.count, b.count)
    func filled(_ text: [UInt8]) -> [UInt8] { text + [UInt8](repeating: 0x30, count: length - text.count) }
    return filled(a).lexicographicallyPrecedes(filled(b))
  }
}
