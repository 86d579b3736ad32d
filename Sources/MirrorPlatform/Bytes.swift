// Bytes from one kind of memory to another.

extension [UInt8] {
  /// Appends a copy of the bytes.
  public mutating func append(contentsOf bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }
}
