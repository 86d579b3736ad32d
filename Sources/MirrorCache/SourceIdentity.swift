import MirrorPlatform
// What a cached source is called: in the file that says so, and in the name of its directory.
public import MirrorStore

/// An endpoint, a bucket and a part of it, perhaps as it was at a time.
public struct SourceIdentity: Hashable, Sendable {
  public let endpoint: String
  public let bucket: String
  public let prefix: ObjectKey
  /// RFC 3339; nil: the present.
  public let view: String?

  public init(endpoint: String, bucket: String, prefix: ObjectKey, view: String? = nil) {
    self.view = view
    self.endpoint = endpoint
    self.bucket = bucket
    self.prefix = prefix
  }

  init(_ configuration: CacheConfiguration) {
    self.init(
      endpoint: configuration.endpoint, bucket: configuration.bucket, prefix: configuration.prefix,
      view: configuration.view)
  }

  /// One `name=value` a line, values percent-encoded.
  var encoded: [UInt8] {
    var fields = [("endpoint", Array(endpoint.utf8)), ("bucket", Array(bucket.utf8)), ("prefix", prefix.bytes)]
    if let view { fields.append(("at", Array(view.utf8))) }
    let lines = fields.map { "\($0.0)=\(percentEncoded($0.1, keepingSlash: true))\n" }
    return Array(lines.joined().utf8)
  }

  init?(encoded bytes: [UInt8]) {
    var values: [String: [UInt8]] = [:]
    for line in bytes.split(separator: 0x0A) {
      guard let equals = line.firstIndex(of: 0x3D) else { continue }
      values[String(decoding: line[..<equals], as: UTF8.self)] = percentDecoded(
        line[line.index(after: equals)...], form: false)
    }
    guard let endpoint = values["endpoint"], let bucket = values["bucket"], let prefix = values["prefix"] else {
      return nil
    }
    self.init(
      endpoint: String(decoding: endpoint, as: UTF8.self), bucket: String(decoding: bucket, as: UTF8.self),
      prefix: ObjectKey(prefix), view: values["at"].map { String(decoding: $0, as: UTF8.self) })
  }

  init?(path: String) {
    guard let bytes = try? FileSystem.read(path) else { return nil }
    self.init(encoded: bytes)
  }

  /// A part for people, cut to 80 bytes, and a hash that tells apart what the part does not.
  var directoryName: String {
    let host = endpoint.split(separator: "/").last.map(String.init) ?? endpoint
    var readable: [UInt8] = []
    for byte in Array("\(bucket)_\(view.map { "\($0)_" } ?? "")".utf8) + prefix.bytes + Array("_\(host)".utf8)
    where readable.count < 80 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: readable.append(byte)
      default: if readable.last != 0x5F { readable.append(0x5F) }
      }
    }
    if readable.first == 0x2E { readable[0] = 0x5F }
    let hash = stableHash(encoded)
    let digits = (0..<8).map { UInt8(truncatingIfNeeded: hash >> (56 - 8 * UInt64($0))) }
    return String(decoding: readable, as: UTF8.self) + "-" + hexadecimal(digits)
  }
}
