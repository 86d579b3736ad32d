// The names under which tools keep a file's attributes in an object's metadata, and how each of them writes them.
import MirrorPlatform

extension PosixMetadata {
  private static let typeMask: UInt32 = 0o170000
  private static let link: UInt32 = 0o120000

  /// From `x-amz-meta-*` without that prefix, names in lower case; nil where none of them is of this kind.
  ///
  /// Of s3fs and s3sync (`mode`, `uid`, `gid`, `mtime`; `permissions`, `owner`, `group`), rclone (`mtime`, with
  /// --metadata `mode` too), gcsfuse and gsutil (`gcsfuse_*`, `goog-reserved-*`), AWS DataSync, File Gateway, FSx and S3
  /// Files (`file-*`), goofys (`--symlink-target`), s3cmd (`s3cmd-attrs`).
  public init?(fields: [(name: String, value: String)]) {
    guard !fields.isEmpty else { return nil }
    var values: [Substring: Substring] = [:]
    for field in fields { values[Substring(field.name)] = Substring(field.value) }
    if let attributes = values["s3cmd-attrs"] {
      for attribute in attributes.split(separator: "/") {
        let parts = attribute.split(separator: ":", maxSplits: 1)
        if parts.count == 2 { values["s3cmd " + parts[0]] = parts[1] }
      }
    }
    func first<Value>(_ names: [Substring], _ read: (Substring) -> Value?) -> Value? {
      for name in names { if let value = values[name].flatMap(read) { return value } }
      return nil
    }
    let mode =
      first(["file-permissions"], Self.octal) ?? first(["mode"], Self.mode)
      ?? first(["goog-reserved-posix-mode"], Self.octal) ?? first(["permissions", "s3cmd mode"], Self.mode)
    permissions = mode.map { $0 & 0o777 }
    isLink = mode.map { $0 & Self.typeMask == Self.link } ?? false
    owner = first(["file-owner", "uid", "goog-reserved-posix-uid", "owner", "s3cmd uid"], Self.number)
    group = first(["file-group", "gid", "goog-reserved-posix-gid", "group", "s3cmd gid"], Self.number)
    modified =
      first(["file-mtime"], Self.gatewayTime)
      ?? first(["mtime", "gcsfuse_mtime", "goog-reserved-file-mtime", "s3cmd mtime"], Self.time)
    if let path = values["gcsfuse_symlink_target"] ?? values["--symlink-target"], !path.isEmpty {
      target = Array(path.utf8)
      isLink = true
    }
    if isEmpty { return nil }
  }

  /// Decimal or octal: st_mode has sixteen bits, and its type is one that exists.
  private static func mode(_ text: Substring) -> UInt32? {
    guard let decimal = UInt32(text) else { return nil }
    let types: Set<UInt32> = [0o10000, 0o20000, 0o40000, 0o60000, 0o100000, 0o120000, 0o140000]
    if decimal <= 0xFFFF, types.contains(decimal & typeMask) { return decimal }
    return octal(text) ?? (decimal <= 0o7777 ? decimal : nil)
  }

  private static func octal(_ text: Substring) -> UInt32? {
    UInt32(text, radix: 8).flatMap { $0 <= 0xFFFF ? $0 : nil }
  }

  /// (uid_t)-1 is nobody's.
  private static func number(_ text: Substring) -> UInt32? { UInt32(text).flatMap { $0 == .max ? nil : $0 } }

  /// Nanoseconds with `ns` behind them, else milliseconds.
  private static func gatewayTime(_ text: Substring) -> FileTime? {
    let isNanoseconds = text.hasSuffix("ns")
    guard let value = Int64(isNanoseconds ? text.dropLast(2) : text) else { return nil }
    let perSecond: Int64 = isNanoseconds ? 1_000_000_000 : 1000
    let rest = value % perSecond
    return FileTime(
      seconds: value / perSecond - (rest < 0 ? 1 : 0),
      nanoseconds: Int32((rest + (rest < 0 ? perSecond : 0)) * (1_000_000_000 / perSecond)))
  }

  /// Seconds, perhaps with a fraction, or RFC 3339.
  private static func time(_ text: Substring) -> FileTime? {
    if text.contains("T") {
      guard let seconds = Timestamp(rfc3339: String(text))?.seconds else { return nil }
      let dot = text.firstIndex(of: ".").map { text.index(after: $0) }
      return FileTime(seconds: seconds, nanoseconds: dot.map { fraction(text[$0...]) } ?? 0)
    }
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int64(parts[0]), parts.count == 1 || parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    let rest = parts.count == 2 ? fraction(parts[1]) : 0
    // -1.25 is a quarter before -1.
    guard text.hasPrefix("-"), rest > 0, whole > .min else { return FileTime(seconds: whole, nanoseconds: rest) }
    return FileTime(seconds: whole - 1, nanoseconds: 1_000_000_000 - rest)
  }

  /// The digits behind a point, as nanoseconds.
  private static func fraction(_ text: Substring) -> Int32 {
    let digits = text.utf8.prefix { (0x30...0x39).contains($0) }.prefix(9)
    return digits.reduce(0) { $0 * 10 + Int32($1 - 0x30) } * (digits.count..<9).reduce(1) { power, _ in power * 10 }
  }
}
