// A tar archive in memory (POSIX.1-1988 ustar): enough for a handful of texts.

public struct TarArchive: Sendable {
  private static let block = 512

  private var bytes: [UInt8] = []

  public init() {}

  /// Adds a file; the path is of at most 100 bytes. `modified` is in seconds since 1970.
  public mutating func add(_ path: String, _ content: [UInt8], modified: Int64) {
    var header = [UInt8](repeating: 0, count: Self.block)
    func put(_ text: some Sequence<UInt8>, at offset: Int, length: Int) {
      for (index, byte) in text.prefix(length).enumerated() { header[offset + index] = byte }
    }
    func put(octal value: Int64, at offset: Int, length: Int) {
      let digits = String(max(0, value), radix: 8)
      put(
        (String(repeating: "0", count: max(0, length - 1 - digits.count)) + digits).utf8, at: offset, length: length - 1
      )
    }
    put(path.utf8, at: 0, length: 100)
    put(octal: 0o600, at: 100, length: 8)
    put(octal: 0, at: 108, length: 8)
    put(octal: 0, at: 116, length: 8)
    put(octal: Int64(content.count), at: 124, length: 12)
    put(octal: modified, at: 136, length: 12)
    put("        ".utf8, at: 148, length: 8)
    put("0".utf8, at: 156, length: 1)
    put("ustar\u{0}00".utf8, at: 257, length: 8)
    put(octal: header.reduce(0) { $0 + Int64($1) }, at: 148, length: 7)
    header[155] = 0x20
    bytes += header + content
    bytes += [UInt8](repeating: 0, count: (Self.block - content.count % Self.block) % Self.block)
  }

  /// The archive with its end.
  public var data: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.block) }
}
