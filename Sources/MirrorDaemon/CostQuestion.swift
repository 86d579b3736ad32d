// What `cost` is asked for: the same words on the command line's way to a daemon.
import MirrorPlatform
public import MirrorStore

public struct CostQuestion: Equatable, Sendable {
  public enum Order: String, CaseIterable, Sendable { case day, prefix }
  /// Nil: both.
  public var order: Order?
  public var json: Bool
  /// A month at the rate of the mount.
  public var project: Bool
  /// Prices in place of those of the mount, as they were written.
  public var prices: [String]

  public init(order: Order? = nil, json: Bool = false, project: Bool = false, prices: [String] = []) {
    self.order = order
    self.json = json
    self.project = project
    self.prices = prices
  }

  /// One word a line.
  public var encoded: [UInt8] {
    var words = prices.map { "price=\($0)" }
    if let order { words.append("by=\(order.rawValue)") }
    if json { words.append("json") }
    if project { words.append("project") }
    return Array(words.joined(separator: "\n").utf8)
  }

  /// Words that this release does not know are passed over.
  init(encoded: [UInt8]) {
    self.init()
    for line in encoded.split(separator: 0x0A) {
      let word = String(decoding: line, as: UTF8.self)
      if word == "json" { json = true }
      if word == "project" { project = true }
      if word.hasPrefix("by=") { order = Order(rawValue: String(word.dropFirst(3))) }
      if word.hasPrefix("price=") { prices.append(String(word.dropFirst(6))) }
    }
  }

  /// These prices where the question has none of its own.
  public func prices(over usual: Prices) throws(CommandFailure) -> Prices {
    var result = usual
    for text in prices {
      do throws(PriceError) { try result.set(text) } catch {
        throw CommandFailure(.usage, "option '--price \(text)': \(error.message)")
      }
    }
    return result
  }
}
