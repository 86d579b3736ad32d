// A random program: what happens to the bucket, to time and to the origin, and what readers do meanwhile.
import MirrorCore
import MirrorPlatform
import MirrorStore
import TestSupport

/// One line of a program. Places that count (`h`, `n`) are taken modulo what there is, so that every part of a program
/// is a program.
enum ModelStep: Hashable, Sendable {
  case put([UInt8], Int, String?)
  case touch([UInt8])
  /// Brings back what was replaced or deleted.
  case restore([UInt8], Int)
  case delete([UInt8])
  case look([UInt8])
  /// Keeps the file that it finds.
  case open([UInt8])
  case read(Int, Int, Int)
  case whole(Int)
  case stat(Int)
  case close(Int)
  case list([UInt8], Bool)
  case refresh([UInt8])
  /// Milliseconds.
  case advance(Int)
  case wall(Int)
  /// Answers wait for `serve` and `deliver`, until `free`.
  case hold, free
  case serve(Int)
  case deliver(Int)
  case fail(Int, ModelFault)
  case down(ModelFault)
  case up
  case restart, crash
  case evict
}

enum ModelFault: String, CaseIterable, Sendable {
  case unreachable, timeout, serverError, throttled, interrupted, credentials, accessDenied, malformedResponse
  var code: StoreError.Code {
    switch self {
    case .unreachable: .unreachable
    case .timeout: .timeout
    case .serverError: .serverError
    case .throttled: .throttled
    case .interrupted: .interrupted
    case .credentials: .credentials
    case .accessDenied: .accessDenied
    case .malformedResponse: .malformedResponse
    }
  }
}

struct ModelProgram: Sendable {
  var settings = ModelSettings()
  var steps: [ModelStep] = []

  var text: String { ([settings.description] + steps.map(\.description)).joined(separator: "\n") }

  /// Nil for what is no program.
  init?(_ text: String) {
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }.filter { !$0.isEmpty }
    guard let first = lines.first, first[0] == "settings" else { return nil }
    settings = ModelSettings(words: first)
    let steps = lines.dropFirst().map { ModelStep(words: $0) }
    guard !steps.contains(nil) else { return nil }
    self.steps = steps.compactMap { $0 }
  }

  init(settings: ModelSettings, steps: [ModelStep]) {
    self.settings = settings
    self.steps = steps
  }
}

/// What does not change while a program runs; durations in milliseconds.
struct ModelSettings: Sendable, CustomStringConvertible {
  var values: [String: Int] = [:]

  init() {}
  init(words: [String]) {
    for word in words {
      let parts = word.split(separator: "=")
      if parts.count == 2, let value = Int(parts[1]) { values[String(parts[0])] = value }
    }
  }

  var window: Int { values["window"] ?? 60_000 }
  var negative: Int { values["negative"] ?? 5_000 }
  /// That of all below `d`.
  var inner: Int? { values["inner"] }
  /// What ends in `.o` says for itself how long it may be used.
  var origin: Bool { values["origin"] != nil }
  var staleIfError: Int? { values["sie"] }
  var revalidate: Int? { values["swr"] }
  var page: Int { values["page"] ?? 1000 }
  var part: Int { values["part"] ?? 8 << 20 }
  var limit: Int { values["limit"] ?? 1 << 30 }
  /// How many checks a listing costs.
  var listing: Int? { values["listing"] }
  var halves: Bool { values["halves"] != nil }

  var description: String {
    "settings" + values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
  }

  func rules() throws -> FreshnessRules {
    var rules = FreshnessRules(default: .milliseconds(window))
    rules.negative = .milliseconds(negative)
    rules.staleIfError = staleIfError.map { .milliseconds($0) }
    rules.staleWhileRevalidate = revalidate.map { .milliseconds($0) }
    if origin { try rules.add("*.o=origin") }
    if let inner { try rules.add("d/**=\(inner)ms") }
    return rules
  }

  var prices: Prices {
    var prices = Prices()
    if let listing { prices.perList = prices.perGet * Double(listing) }
    return prices
  }
}

// MARK: As text
extension ModelStep: CustomStringConvertible {
  private static func word(_ path: [UInt8]) -> String {
    let plain = path.map { byte in
      let character = Character(UnicodeScalar(byte))
      return byte < 0x80 && (character.isLetter || character.isNumber || "/.-_".contains(character))
        ? String(character) : "%" + hexadecimal([byte])
    }
    return path.isEmpty ? "%" : plain.joined()
  }

  private static func path(_ word: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(word.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == 0x25, rest.count >= 2 else {
        if byte != 0x25 { bytes.append(byte) }
        continue
      }
      bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  var description: String {
    switch self {
    case .put(let key, let size, let said): "put \(Self.word(key)) \(size)" + (said.map { " \($0)" } ?? "")
    case .touch(let key): "touch \(Self.word(key))"
    case .restore(let key, let back): "restore \(Self.word(key)) \(back)"
    case .delete(let key): "delete \(Self.word(key))"
    case .look(let path): "look \(Self.word(path))"
    case .open(let path): "open \(Self.word(path))"
    case .read(let handle, let offset, let count): "read \(handle) \(offset) \(count)"
    case .whole(let handle): "whole \(handle)"
    case .stat(let handle): "stat \(handle)"
    case .close(let handle): "close \(handle)"
    case .list(let path, let plus): "\(plus ? "listplus" : "list") \(Self.word(path))"
    case .refresh(let path): "refresh \(Self.word(path))"
    case .advance(let time): "advance \(time)"
    case .wall(let time): "wall \(time)"
    case .hold: "hold"
    case .free: "free"
    case .serve(let number): "serve \(number)"
    case .deliver(let number): "deliver \(number)"
    case .fail(let number, let fault): "fail \(number) \(fault.rawValue)"
    case .down(let fault): "down \(fault.rawValue)"
    case .up: "up"
    case .restart: "restart"
    case .crash: "crash"
    case .evict: "evict"
    }
  }

  init?(words: [String]) {
    let path = words.count > 1 ? Self.path(words[1]) : []
    func number(_ index: Int) -> Int { words.count > index ? Int(words[index]) ?? 0 : 0 }
    func fault(_ index: Int) -> ModelFault {
      words.count > index ? ModelFault(rawValue: words[index]) ?? .unreachable : .unreachable
    }
    switch words[0] {
    case "put": self = .put(path, number(2), words.count > 3 ? words[3] : nil)
    case "touch": self = .touch(path)
    case "restore": self = .restore(path, number(2))
    case "delete": self = .delete(path)
    case "look": self = .look(path)
    case "open": self = .open(path)
    case "read": self = .read(number(1), number(2), number(3))
    case "whole": self = .whole(number(1))
    case "stat": self = .stat(number(1))
    case "close": self = .close(number(1))
    case "list": self = .list(path, false)
    case "listplus": self = .list(path, true)
    case "refresh": self = .refresh(path)
    case "advance": self = .advance(number(1))
    case "wall": self = .wall(number(1))
    case "hold": self = .hold
    case "free": self = .free
    case "serve": self = .serve(number(1))
    case "deliver": self = .deliver(number(1))
    case "fail": self = .fail(number(1), fault(2))
    case "down": self = .down(fault(1))
    case "up": self = .up
    case "restart": self = .restart
    case "crash": self = .crash
    case "evict": self = .evict
    default: return nil
    }
  }
}
