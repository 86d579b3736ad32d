// Digests by OpenSSL, and the fast one for blocks by xxhash.
import COpenSSL
import CXXHash

/// A running cryptographic digest; not for sharing between threads.
@safe public struct Digest: ~Copyable {
  public enum Algorithm: String, Sendable { case sha256 = "SHA256", sha1 = "SHA1", md5 = "MD5" }
  private let state: OpaquePointer

  public init(_ algorithm: Algorithm) {
    guard let state = unsafe copenssl_digest_create(algorithm.rawValue) else {
      preconditionFailure("OpenSSL has no \(algorithm.rawValue)")
    }
    unsafe self.state = state
  }
  deinit { unsafe copenssl_digest_free(state) }

  public borrowing func update(_ bytes: UnsafeRawBufferPointer) {
    _ = unsafe copenssl_digest_update(state, bytes.baseAddress, bytes.count)
  }
  public borrowing func update(_ bytes: RawSpan) { unsafe bytes.withUnsafeBytes { unsafe update($0) } }
  public borrowing func update(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe update($0) } }

  /// The value of all bytes so far; the digest starts anew.
  public borrowing func finish() -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      unsafe count = copenssl_digest_finish(state, buffer.baseAddress)
    }
  }

  public static func value(_ algorithm: Algorithm, of bytes: [UInt8]) -> [UInt8] {
    let digest = Digest(algorithm)
    digest.update(bytes)
    return digest.finish()
  }
}

/// HMAC-SHA-256 (RFC 2104).
public func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
  unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
    let done = unsafe copenssl_hmac_sha256(key, key.count, message, message.count, buffer.baseAddress)
    count = done == 1 ? 32 : 0
  }
}

/// The XXH3-64 digest of a block, whole or as its bytes arrive; not for sharing between threads.
@safe public final class BlockDigest {
  private let state: OpaquePointer

  public init() {
    guard let state = unsafe cxxhash_create() else { preconditionFailure("out of memory") }
    unsafe self.state = state
  }
  deinit { unsafe cxxhash_free(state) }

  public func reset() { unsafe cxxhash_reset(state) }
  public func update(_ bytes: UnsafeRawBufferPointer) { unsafe cxxhash_update(state, bytes.baseAddress, bytes.count) }
  public var value: UInt64 { unsafe cxxhash_value(state) }

  public static func value(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    unsafe cxxhash_digest(bytes.baseAddress, bytes.count)
  }
}

private func cxxhash_of(_ bytes: [UInt8]) -> UInt64 {
  unsafe bytes.withUnsafeBytes { unsafe BlockDigest.value(of: $0) }
}

/// A stable 64-bit hash of bytes, the same in every process and release (XXH3-64).
public func stableHash(_ bytes: [UInt8]) -> UInt64 { cxxhash_of(bytes) }

/// The same, with a seed.
public func stableHash(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
  unsafe bytes.withUnsafeBytes { unsafe cxxhash_seeded($0.baseAddress, $0.count, seed) }
}

/// The same, with a seed.
public func stableHash(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
  unsafe bytes.withUnsafeBytes { unsafe cxxhash_seeded($0.baseAddress, $0.count, seed) }
}
