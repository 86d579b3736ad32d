// An option as somebody gave it, where, and which of several count.
import MirrorCore
import MirrorPlatform
import MirrorStore

/// Where an option was given; what comes later counts more.
enum OptionLevel: Int, Comparable, Sendable {
  case general, section, list, commandLine
  static func < (a: OptionLevel, b: OptionLevel) -> Bool { a.rawValue < b.rawValue }
}

/// A line of a configuration file.
struct ConfigurationPlace: Equatable, Sendable, CustomStringConvertible {
  let file: String
  let line: Int
  var description: String { "\(file):\(line)" }
}

struct GivenOption: Sendable {
  let option: MountOption
  /// Of a flag `yes` or `no`.
  let value: String
  let level: OptionLevel
  /// As it was written: `--region`, `-o region`, `region`.
  let spelling: String
  /// Nil for what came in arguments.
  var place: ConfigurationPlace?

  /// What is wrong with its value, in one line.
  func failure(_ problem: String) -> CommandFailure {
    guard let place else { return CommandFailure(.usage, "option '\(spelling) \(value)': \(problem)") }
    return CommandFailure(.usage, "\(place): '\(spelling) = \(value)': \(problem)")
  }

  func apply(to settings: inout MountSettings) throws(CommandFailure) {
    if option.placeholder == nil, value != "yes" { return }
    do throws(OptionProblem) { try option.apply(&settings, value) } catch { throw failure(error.text) }
  }
}

extension [GivenOption] {
  /// Those that count, in the order in which they are to be applied, option by option as the table has them. `self` is
  /// in the order of the files, then of the arguments.
  func effective() -> [GivenOption] {
    MountOption.all.flatMap { option -> [GivenOption] in
      let given = filter { $0.option.name == option.name }
      let all = given.inOrder(of: \.level)
      // Of arguments in the order in which they were written.
      let asWritten = given.inOrder(of: { Swift.min($0.level, .list) })
      switch option.joins {
      case .replaces: return all.last.map { [$0] } ?? []
      case .adds: return asWritten
      case .rules: return Self.rules(all)
      case .budgets: return Self.budgets(asWritten)
      }
    }
  }

  /// Those of one level stay as they are.
  private func inOrder(of level: (GivenOption) -> OptionLevel) -> [GivenOption] {
    enumerated().sorted { (level($0.element), $0.offset) < (level($1.element), $1.offset) }.map(\.element)
  }

  private static func rules(_ all: [GivenOption]) -> [GivenOption] {
    let isForAll = { (given: GivenOption) in FreshnessRules.isForAll(given.value) == true }
    let patterns = all.filter { !isForAll($0) }
    let levels = Set(patterns.map(\.level)).sorted(by: >)
    return levels.flatMap { level in patterns.filter { $0.level == level } }
      + (all.last(where: isForAll).map { [$0] } ?? [])
  }

  /// What can't be read is kept, so that it is refused.
  private static func budgets(_ all: [GivenOption]) -> [GivenOption] {
    all.filter { given in
      guard let limit = try? BudgetLimit(parsing: given.value) else { return true }
      return !all.contains { other in
        guard Swift.min(other.level, .list) > given.level, let higher = try? BudgetLimit(parsing: other.value) else {
          return false
        }
        return higher.unit == limit.unit && higher.period == limit.period
      }
    }
  }
}
