// Makes a program that fails as short as it gets.

extension ModelProgram {
  /// Leaves out ever smaller parts for as long as it still fails (Zeller, Hildebrandt 2002), within so many runs.
  func shrunk(runs: Int = 600, _ fails: (ModelProgram) -> Bool) -> ModelProgram {
    var best = self
    var left = runs
    func attempt(_ program: ModelProgram) -> Bool {
      guard left > 0 else { return false }
      left -= 1
      guard fails(program) else { return false }
      best = program
      return true
    }
    var part = max(1, best.steps.count / 2)
    while left > 0 {
      var start = 0
      var hasShrunk = false
      while start < best.steps.count, left > 0 {
        var steps = best.steps
        steps.removeSubrange(start..<min(steps.count, start + part))
        if attempt(ModelProgram(settings: best.settings, steps: steps)) { hasShrunk = true } else { start += part }
      }
      if part == 1, !hasShrunk { break }
      part = max(1, part / 2)
    }
    for name in best.settings.values.keys.sorted() {
      var simpler = best
      simpler.settings.values[name] = nil
      _ = attempt(simpler)
    }
    return best
  }
}
