// The text that a metrics scraper reads: OpenMetrics 1.0, families of samples.
import MirrorPlatform

/// Metrics as text, built family by family.
public struct MetricsText: Sendable {
  /// What a server says its body is.
  public static let contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
  private static let end = "# EOF\n"

  enum Kind: String { case counter, gauge, histogram, info }

  struct Sample {
    var suffix = ""
    var labels: [(String, String)] = []
    let value: String

    init(_ value: Int, _ labels: [(String, String)] = [], suffix: String = "") {
      self.init(text: "\(value)", labels, suffix: suffix)
    }
    init(_ value: Int64, _ labels: [(String, String)] = []) { self.init(text: "\(value)", labels) }
    init(_ value: Double, places: Int, _ labels: [(String, String)] = [], suffix: String = "") {
      self.init(text: decimal(value, places: places), labels, suffix: suffix)
    }
    private init(text: String, _ labels: [(String, String)], suffix: String = "") {
      value = text
      self.labels = labels
      self.suffix = suffix
    }
  }

  /// Labels of every sample.
  private let common: [(String, String)]
  private var body = ""

  init(common: [(String, String)]) { self.common = common }

  public var text: String { body + Self.end }

  /// A family without samples is left out. The unit is the last word of the name.
  mutating func add(_ name: String, _ kind: Kind, unit: String? = nil, _ help: String, _ samples: [Sample]) {
    guard !samples.isEmpty else { return }
    body += "# TYPE \(name) \(kind.rawValue)\n"
    if let unit { body += "# UNIT \(name) \(unit)\n" }
    body += "# HELP \(name) \(help)\n"
    for sample in samples {
      let suffix =
        switch kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge: ""
        case .histogram: sample.suffix
        }
      let labels = (common + sample.labels).map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
      body += "\(name)\(suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
    }
  }

  private static func escaped(_ text: String) -> String {
    var out = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": out += "\\\\"
      case "\"": out += "\\\""
      case "\n": out += "\\n"
      default: out.unicodeScalars.append(character)
      }
    }
    return out
  }

  /// The same families of several texts, each family once: a scraper refuses one that comes twice.
  public static func joined(_ texts: [String]) -> String {
    var names: [Substring] = []
    var heads: [Substring: [Substring]] = [:]
    var samples: [Substring: [Substring]] = [:]
    for text in texts {
      var name: Substring = ""
      for line in text.split(separator: "\n") where line != "# EOF" {
        guard line.hasPrefix("# ") else {
          samples[name, default: []].append(line)
          continue
        }
        let words = line.split(separator: " ", maxSplits: 3)
        guard words.count > 2 else { continue }
        if words[1] == "TYPE" {
          name = words[2]
          if heads[name] == nil { names.append(name) }
        }
        if samples[name] == nil { heads[name, default: []].append(line) }
      }
    }
    let lines = names.flatMap { (heads[$0] ?? []) + (samples[$0] ?? []) }
    return lines.map { $0 + "\n" }.joined() + end
  }
}
