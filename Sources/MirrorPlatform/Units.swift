// Sizes and durations as people write them.

/// A number of bytes.
public struct ByteCount: Hashable, Comparable, Sendable, CustomStringConvertible {
  public var bytes: Int64
  public init(_ bytes: Int64) { self.bytes = bytes }
  public static func < (a: ByteCount, b: ByteCount) -> Bool { a.bytes < b.bytes }

  public static func kibibytes(_ n: Int64) -> ByteCount { ByteCount(n << 10) }
  public static func mebibytes(_ n: Int64) -> ByteCount { ByteCount(n << 20) }
  public static func gibibytes(_ n: Int64) -> ByteCount { ByteCount(n << 30) }

  /// `64MiB`, `1GB`, `512k`, `10G`, `4096`: IEC and bare letters count in 1024, `kB MB GB TB` in 1000.
  public init?(parsing text: String) {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard !digits.isEmpty, let number = Double(digits), number >= 0 else { return nil }
    let unit = text[digits.endIndex...].lowercased()
    let scale: Double
    switch unit {
    case "", "b": scale = 1
    case "kb": scale = 1e3
    case "mb": scale = 1e6
    case "gb": scale = 1e9
    case "tb": scale = 1e12
    case "k", "kib", "ki": scale = 1024
    case "m", "mib", "mi": scale = 1_048_576
    case "g", "gib", "gi": scale = 1_073_741_824
    case "t", "tib", "ti": scale = 1_099_511_627_776
    default: return nil
    }
    guard number * scale < 9e18 else { return nil }
    bytes = Int64(number * scale)
  }

  public var description: String {
    var value = Double(bytes)
    for unit in ["B", "KiB", "MiB", "GiB"] {
      if value < 1024 { return unit == "B" ? "\(bytes) B" : "\(decimal(value, places: 1)) \(unit)" }
      value /= 1024
    }
    return "\(decimal(value, places: 1)) TiB"
  }
}

/// `500ms`, `60s`, `15m`, `1h`, `7d`, or a bare number of seconds; nil when it is none of these.
public func parseDuration(_ text: String) -> Duration? {
  let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
  guard !digits.isEmpty, let number = Double(digits), number >= 0 else { return nil }
  let scale: Double
  switch text[digits.endIndex...].lowercased() {
  case "ms": scale = 0.001
  case "", "s": scale = 1
  case "m", "min": scale = 60
  case "h": scale = 3600
  case "d": scale = 86400
  case "w": scale = 604800
  default: return nil
  }
  guard number * scale < 9e9 else { return nil }
  return .nanoseconds(Int64(number * scale * 1e9))
}

/// The shortest of the forms `parseDuration` reads that loses at most a part in a hundred.
public func formatDuration(_ duration: Duration) -> String {
  let seconds = duration.secondsValue
  if seconds < 1 { return "\(Int64(seconds * 1000 + 0.5))ms" }
  for (unit, length) in [("d", 86400.0), ("h", 3600), ("m", 60)] where seconds >= length {
    let value = seconds / length
    if value == value.rounded() || value >= 10 {
      return "\(decimal(value, places: value == value.rounded() ? 0 : 1))\(unit)"
    }
  }
  return "\(decimal(seconds, places: seconds == seconds.rounded() ? 0 : 1))s"
}

/// A number with so many decimal places, without a locale.
public func decimal(_ value: Double, places: Int) -> String {
  var scale = 1.0
  for _ in 0..<places { scale *= 10 }
  let scaled = (value.magnitude * scale).rounded()
  guard scaled < 9e18 else { return "\(value)" }
  let digits = String(UInt64(scaled))
  let sign = value < 0 && scaled > 0 ? "-" : ""
  if places == 0 { return sign + digits }
  let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
  return sign + padded.dropLast(places) + "." + padded.suffix(places)
}
