// A strict reader of OpenMetrics 1.0 text, for tests: everything that a scraper may refuse is an error here.

struct OpenMetricsError: Error, CustomStringConvertible {
  let description: String
}

/// The samples of a text, and the families that they belong to.
struct OpenMetrics {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }
  private(set) var types: [String: String] = [:]
  private(set) var samples: [Sample] = []

  init(_ text: String) throws {
    guard text.hasSuffix("# EOF\n") else { throw OpenMetricsError(description: "no # EOF at the end") }
    var family = ""
    var seen: Set<String> = []
    for line in text.dropLast("# EOF\n".count).split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if line.hasPrefix("# ") {
        let words = line.split(separator: " ", maxSplits: 3).map(String.init)
        guard words.count == 4, ["TYPE", "UNIT", "HELP"].contains(words[1]) else { throw Self.error(line) }
        if words[1] == "TYPE" {
          family = words[2]
          guard types.updateValue(words[3], forKey: family) == nil else { throw Self.error(line) }
        }
        guard words[2] == family else { throw Self.error(line) }
        if words[1] == "UNIT", !family.hasSuffix("_" + words[3]) { throw Self.error(line) }
        continue
      }
      let sample = try Self.sample(line)
      guard let type = types[family], Self.suffixes(type).contains(where: { family + $0 == sample.name }) else {
        throw Self.error(line)
      }
      if type == "counter", sample.value < 0 { throw Self.error(line) }
      let place = sample.name + sample.labels.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ",")
      guard seen.insert(place).inserted else { throw Self.error(line) }
      samples.append(sample)
    }
    try checkHistograms()
  }

  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    samples.first { sample in
      sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
    }?.value
  }

  private static func suffixes(_ type: String) -> [String] {
    switch type {
    case "counter": ["_total"]
    case "info": ["_info"]
    case "histogram": ["_bucket", "_count", "_sum"]
    case "gauge": [""]
    default: []
    }
  }

  private static func error(_ line: Substring) -> OpenMetricsError { OpenMetricsError(description: "'\(line)'") }

  private static func sample(_ line: Substring) throws -> Sample {
    guard let blank = line.lastIndex(of: " "), let value = Double(line[line.index(after: blank)...]) else {
      throw error(line)
    }
    let head = line[..<blank]
    let name = head.prefix { $0 != "{" }
    guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else {
      throw error(line)
    }
    guard let brace = head.firstIndex(of: "{") else { return Sample(name: String(name), labels: [:], value: value) }
    guard head.last == "}" else { throw error(line) }
    var labels: [String: String] = [:]
    var rest = head[head.index(after: brace)...].dropLast()
    while !rest.isEmpty {
      guard let equals = rest.firstIndex(of: "=") else { throw error(line) }
      let label = String(rest[..<equals])
      rest = rest[rest.index(after: equals)...]
      guard rest.popFirst() == "\"", !label.isEmpty else { throw error(line) }
      var text = ""
      var isClosed = false
      while let character = rest.popFirst() {
        if character == "\"" {
          isClosed = true
          break
        }
        if character != "\\" {
          text.append(character)
          continue
        }
        switch rest.popFirst() {
        case "n": text.append("\n")
        case "\\": text.append("\\")
        case "\"": text.append("\"")
        default: throw error(line)
        }
      }
      guard isClosed, labels.updateValue(text, forKey: label) == nil else { throw error(line) }
      if let comma = rest.popFirst(), comma != "," { throw error(line) }
    }
    return Sample(name: String(name), labels: labels, value: value)
  }

  /// Buckets grow, the last is +Inf and equals the count.
  private func checkHistograms() throws {
    for (family, type) in types where type == "histogram" {
      let buckets = samples.filter { $0.name == family + "_bucket" }
      let groups = Dictionary(grouping: buckets) { bucket in bucket.labels.filter { $0.key != "le" } }
      for (labels, series) in groups {
        let bounds = series.map { $0.labels["le"] ?? "" }
        guard bounds.last == "+Inf",
          bounds.dropLast().compactMap(Double.init).sorted().map({ "\($0)" }) == Array(bounds.dropLast()),
          series.map(\.value) == series.map(\.value).sorted(),
          series.last?.value == value(family + "_count", labels)
        else { throw OpenMetricsError(description: "histogram \(family) of \(labels)") }
      }
    }
  }
}
