// Bytes as text: hexadecimal, base64, percent-encoding.

private let lowerHex = Array("0123456789abcdef".utf8)
private let upperHex = Array("0123456789ABCDEF".utf8)

public func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  var text: [UInt8] = []
  text.reserveCapacity(2 * bytes.underestimatedCount)
  for byte in bytes {
    text.append(lowerHex[Int(byte >> 4)])
    text.append(lowerHex[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}

/// The value of one hexadecimal digit, either case.
public func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x41...0x46: byte - 0x41 + 10
  case 0x61...0x66: byte - 0x61 + 10
  default: nil
  }
}

public func bytes(hexadecimal text: some Collection<UInt8>) -> [UInt8]? {
  guard text.count % 2 == 0 else { return nil }
  var bytes: [UInt8] = []
  var high: UInt8?
  for byte in text {
    guard let digit = hexadecimalDigit(byte) else { return nil }
    if let first = high {
      bytes.append(first << 4 | digit)
      high = nil
    } else {
      high = digit
    }
  }
  return bytes
}

private let base64Alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

/// RFC 4648 §4, padded.
public func base64(_ bytes: [UInt8]) -> String {
  var text: [UInt8] = []
  var index = 0
  while index < bytes.count {
    let rest = bytes.count - index
    let group =
      UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
      | (rest > 2 ? UInt32(bytes[index + 2]) : 0)
    text.append(base64Alphabet[Int(group >> 18 & 63)])
    text.append(base64Alphabet[Int(group >> 12 & 63)])
    text.append(rest > 1 ? base64Alphabet[Int(group >> 6 & 63)] : 0x3D)
    text.append(rest > 2 ? base64Alphabet[Int(group & 63)] : 0x3D)
    index += 3
  }
  return String(decoding: text, as: UTF8.self)
}

/// RFC 4648 §4; nil for anything else.
public func bytes(base64 text: String) -> [UInt8]? {
  var bytes: [UInt8] = []
  var group: UInt32 = 0
  var bits = 0
  var padding = 0
  for byte in text.utf8 {
    if byte == 0x3D {
      padding += 1
      continue
    }
    guard padding == 0, let value = base64Alphabet.firstIndex(of: byte) else { return nil }
    group = group << 6 | UInt32(value)
    bits += 6
    if bits >= 8 {
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
    }
  }
  guard padding <= 2, text.utf8.count % 4 == 0 else { return nil }
  return bytes
}

/// Percent-encodes all but RFC 3986's unreserved characters; `/` stays when `keepingSlash`.
public func percentEncoded(_ bytes: some Sequence<UInt8>, keepingSlash: Bool) -> String {
  var text: [UInt8] = []
  for byte in bytes {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: text.append(byte)
    case 0x2F where keepingSlash: text.append(byte)
    default: text += [0x25, upperHex[Int(byte >> 4)], upperHex[Int(byte & 15)]]
    }
  }
  return String(decoding: text, as: UTF8.self)
}

/// Decodes `%XX`, and `+` as a space where `form`; a lone `%` stays as it is.
public func percentDecoded(_ text: some Collection<UInt8>, form: Bool) -> [UInt8] {
  let text = Array(text)
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count)
  var index = 0
  while index < text.count {
    if text[index] == 0x25, index + 2 < text.count,
      let high = hexadecimalDigit(text[index + 1]), let low = hexadecimalDigit(text[index + 2])
    {
      bytes.append(high << 4 | low)
      index += 3
      continue
    }
    bytes.append(form && text[index] == 0x2B ? 0x20 : text[index])
    index += 1
  }
  return bytes
}
