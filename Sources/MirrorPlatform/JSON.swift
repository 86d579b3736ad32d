// JSON text (RFC 8259) out of plain values.

public indirect enum JSON: Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  /// A number with so many decimal places.
  case decimal(Double, places: Int)
  case string(String)
  case array([JSON])
  /// Members in the order given.
  case object([(String, JSON)])

  /// One line.
  public var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .int(let value): "\(value)"
    case .decimal(let value, let places): value.isFinite ? MirrorPlatform.decimal(value, places: places) : "null"
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members): "{" + members.map { Self.quoted($0) + ":" + $1.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\t": out += "\\t"
      case "\r": out += "\\r"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        out += "\\u00" + hexadecimal([UInt8(scalar.value)])
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }
}
