// What a mount answers when it was asked to evict or to collect garbage, as numbers by name, one a line.
public import MirrorCache
import MirrorPlatform

public struct CareAnswer: Sendable {
  private var numbers: [String: Int64] = [:]

  public subscript(_ name: String) -> Int64 { numbers[name] ?? 0 }

  var text: String { numbers.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined() }

  public init(text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, let number = Int64(words[1]) { numbers[String(words[0])] = number }
    }
  }

  init(_ eviction: CacheEviction) {
    numbers = ["objects": Int64(eviction.objects), "bytes": eviction.bytes, "inUse": Int64(eviction.inUse.count)]
  }

  init(_ garbage: CacheGarbage) {
    numbers = [
      "strayFiles": Int64(garbage.strayFiles), "superseded": Int64(garbage.superseded),
      "evicted": Int64(garbage.evicted), "freedBytes": garbage.freedBytes,
    ]
  }

  /// As the mount told it.
  public var garbage: CacheGarbage {
    var garbage = CacheGarbage()
    garbage.strayFiles = Int(self["strayFiles"])
    garbage.superseded = Int(self["superseded"])
    garbage.evicted = Int(self["evicted"])
    garbage.freedBytes = self["freedBytes"]
    return garbage
  }

  /// Limits as the argument of a question.
  public static func encoded(_ limits: CacheLimits) -> [UInt8] {
    let size = limits.size.map { "size \($0)\n" } ?? ""
    return Array((size + (limits.minimumFree.map { "free \($0)\n" } ?? "")).utf8)
  }

  static func limits(_ argument: [UInt8]) -> CacheLimits {
    let answer = CareAnswer(text: String(decoding: argument, as: UTF8.self))
    return CacheLimits(size: answer.numbers["size"], minimumFree: answer.numbers["free"])
  }
}
