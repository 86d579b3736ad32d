// The fault matrix as text: rows are faults, columns are phases, each cell says how often it was passed.
import MirrorPlatform
import Synchronization
import TestSupport

final class FaultTable: Sendable {
  private struct Cell {
    var passed = 0
    var failed = 0
    var outcomes: Set<String> = []
    var longest = Duration.zero
  }
  private struct State {
    var cells: [String: Cell] = [:]
    var failures: [String] = []
  }
  private let state = Mutex(State())
  private let log: String?

  /// Failures are written to `log` as they come.
  init(log: String?) { self.log = log }

  func add(_ result: FaultResult) {
    let line = "\(result.kind.name) × \(result.phase.name), round \(result.round): "
    state.withLock { state in
      var cell = state.cells["\(result.kind.name)/\(result.phase.name)"] ?? Cell()
      if result.failures.isEmpty { cell.passed += 1 } else { cell.failed += 1 }
      if let outcome = result.outcome { cell.outcomes.insert("\(outcome)") }
      cell.longest = max(cell.longest, result.time)
      state.cells["\(result.kind.name)/\(result.phase.name)"] = cell
      state.failures += result.failures.map { line + $0 }
      if let log, !result.failures.isEmpty {
        let text = state.failures.joined(separator: "\n") + "\n"
        try? FileSystem.write(Array(text.utf8), to: log, mode: 0o644)
      }
    }
  }

  var failures: [String] { state.withLock { $0.failures } }
  var runs: Int { state.withLock { $0.cells.values.reduce(0) { $0 + $1.passed + $1.failed } } }
  var failed: Int { state.withLock { $0.cells.values.reduce(0) { $0 + $1.failed } } }
  var fewest: Int { state.withLock { $0.cells.values.map { $0.passed + $0.failed }.min() ?? 0 } }
  var cells: Int { state.withLock { $0.cells.count } }

  var text: String {
    let width = FaultKind.all.map(\.name.count).max() ?? 0
    var lines = [pad("", width) + FaultPhase.allCases.map { pad($0.name, 7, right: true) }.joined()]
    for kind in FaultKind.all {
      let row = FaultPhase.allCases.map { phase -> String in
        guard let cell = state.withLock({ $0.cells["\(kind.name)/\(phase.name)"] }) else {
          return pad(".", 7, right: true)
        }
        return pad(cell.failed == 0 ? "\(cell.passed)" : "FAIL\(cell.failed)", 7, right: true)
      }
      lines.append(pad(kind.name, width) + row.joined())
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// What was seen in each cell, for whoever wonders.
  var outcomes: String {
    var lines: [String] = []
    for kind in FaultKind.all {
      for phase in FaultPhase.allCases {
        guard let cell = state.withLock({ $0.cells["\(kind.name)/\(phase.name)"] }) else { continue }
        let expected = FaultExpectation.of(kind, phase)
        let time = formatDuration(.milliseconds(cell.longest.nanosecondsClamped / 1_000_000))
        lines.append(
          "\(kind.name) × \(phase.name): \(cell.outcomes.sorted().joined(separator: ", ")); at most \(time)"
            + (expected.note.map { " (\($0))" } ?? ""))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    let blanks = String(repeating: " ", count: max(0, width - text.count))
    return right ? blanks + text : text + blanks
  }
}
