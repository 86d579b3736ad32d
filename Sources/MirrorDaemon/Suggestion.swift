// "Did you mean": the known word nearest to a mistyped one.

/// `; did you mean 'mount'?`, or nothing when no candidate is near.
public func suggestion(for word: String, among candidates: some Sequence<String>, prefix: String = "") -> String {
  let limit = max(1, word.count / 3)
  var distance = EditDistance(from: word)
  var nearest: (name: String, distance: Int)?
  for name in candidates {
    guard let found = distance.to(name, within: nearest.map { $0.distance - 1 } ?? limit) else { continue }
    nearest = (name, found)
  }
  return nearest.map { "; did you mean '\(prefix)\($0.name)'?" } ?? ""
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), from one word to many.
private struct EditDistance {
  private let word: [UInt8]
  /// The last two rows, and the one that is being made.
  private var rows: [Int] = []

  init(from word: String) { self.word = Array(word.utf8) }

  /// Nil where it is more than `limit`.
  mutating func to(_ name: String, within limit: Int) -> Int? {
    let other = Array(name.utf8)
    let width = other.count + 1
    // No word is nearer than its length.
    guard abs(word.count - other.count) <= limit else { return nil }
    if rows.count < 3 * width { rows += [Int](repeating: 0, count: 3 * width - rows.count) }
    for j in 0..<width { rows[j] = j }
    var leastBefore = 0
    for i in 0..<word.count {
      // Row i + 1 out of row i and the one before it.
      let (last, before, row) = (i % 3 * width, (i + 2) % 3 * width, (i + 1) % 3 * width)
      rows[row] = i + 1
      var least = i + 1
      for j in 0..<other.count {
        var best = min(rows[last + j] + (word[i] == other[j] ? 0 : 1), rows[last + j + 1] + 1, rows[row + j] + 1)
        if i > 0, j > 0, word[i] == other[j - 1], word[i - 1] == other[j] { best = min(best, rows[before + j - 1] + 1) }
        rows[row + j + 1] = best
        least = min(least, best)
      }
      // A swap reaches back by two rows, and costs one.
      if least > limit, leastBefore >= limit { return nil }
      leastBefore = least
    }
    let found = rows[word.count % 3 * width + other.count]
    return found <= limit ? found : nil
  }
}
