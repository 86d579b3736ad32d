// Bytes from one kind of memory to another, and bytes among bytes.
import CGlibc

extension [UInt8] {
  /// Appends a copy of the bytes.
  public mutating func append(contentsOf bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }
}

extension ArraySlice<UInt8> {
  /// Where these bytes stand first (memmem(3)); nil where they do not.
  public func range(of pattern: [UInt8]) -> Range<Int>? {
    let place = unsafe withUnsafeBytes { bytes in
      unsafe pattern.withUnsafeBytes { pattern in
        unsafe cglibc_find(bytes.baseAddress, bytes.count, pattern.baseAddress, pattern.count)
      }
    }
    return place < 0 ? nil : startIndex + place..<startIndex + place + pattern.count
  }
}
