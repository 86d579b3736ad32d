// "Did you mean": the known word nearest to a mistyped one.

/// `; did you mean 'mount'?`, or nothing when no candidate is near.
public func suggestion(for word: String, among candidates: some Sequence<String>, prefix: String = "") -> String {
  let limit = max(1, word.count / 3)
  // No word is nearer than its length.
  let near = candidates.filter { abs($0.utf8.count - word.utf8.count) <= limit }
  let nearest = near.map { ($0, editDistance(word, $0)) }.min { $0.1 < $1.1 }
  guard let (name, distance) = nearest, distance <= limit else { return "" }
  return "; did you mean '\(prefix)\(name)'?"
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
func editDistance(_ a: String, _ b: String) -> Int {
  let (a, b) = (Array(a.utf8), Array(b.utf8))
  var rows = [Array(0...b.count)]
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var best = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
      row.append(best)
    }
    rows.append(row)
  }
  return rows[a.count][b.count]
}
