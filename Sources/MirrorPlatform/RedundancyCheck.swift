// Cyclic redundancy checks: of bytes as they pass, and of two runs of bytes joined without reading them again.
import CChecksum

/// A running CRC, reflected, with a register that begins as all ones and ends inverted.
public struct RedundancyCheck: Sendable {
  public enum Algorithm: String, CaseIterable, Sendable {
    case crc32, crc32c
    /// NVM Express Base Specification, 64b CRC.
    case crc64nvme

    /// Bits.
    var width: Int { self == .crc64nvme ? 64 : 32 }
    /// The coefficient of x^i in bit `width - 1 - i`.
    var polynomial: UInt64 {
      switch self {
      case .crc32: 0xEDB8_8320
      case .crc32c: 0x82F6_3B78
      case .crc64nvme: 0x9A6C_9329_AC4B_C9B5
      }
    }
    var ones: UInt64 { self == .crc64nvme ? .max : 0xFFFF_FFFF }
    fileprivate var tables: Tables {
      switch self {
      case .crc32: Tables.crc32
      case .crc32c: Tables.crc32c
      case .crc64nvme: Tables.crc64nvme
      }
    }
  }

  public let algorithm: Algorithm
  private let tables: Tables
  private var register: UInt64

  public init(_ algorithm: Algorithm) {
    self.algorithm = algorithm
    tables = algorithm.tables
    register = algorithm.ones
  }

  public mutating func update(_ bytes: RawSpan) { register = tables.update(register, bytes) }

  /// The check of all bytes so far.
  public var value: UInt64 { register ^ algorithm.ones }

  /// The check of two runs of bytes, one after the other, out of the check of each.
  public static func joined(
    _ algorithm: Algorithm, _ first: UInt64, _ second: UInt64, secondCount: Int64
  ) -> UInt64 {
    // The first's polynomial moves up by as many places as the second has bits.
    product(first, shift(by: secondCount, algorithm), algorithm) ^ second
  }

  /// x^(8 count) modulo the polynomial.
  private static func shift(by count: Int64, _ algorithm: Algorithm) -> UInt64 {
    var power = UInt64(1) << UInt64(algorithm.width - 1 - 8)
    var result = UInt64(1) << UInt64(algorithm.width - 1)
    var rest = count
    while rest > 0 {
      if rest & 1 == 1 { result = product(result, power, algorithm) }
      power = product(power, power, algorithm)
      rest >>= 1
    }
    return result
  }

  private static func product(_ a: UInt64, _ b: UInt64, _ algorithm: Algorithm) -> UInt64 {
    var result: UInt64 = 0
    var shifted = b
    var mask = UInt64(1) << UInt64(algorithm.width - 1)
    while mask != 0 {
      if a & mask != 0 { result ^= shifted }
      shifted = shifted & 1 == 1 ? shifted >> 1 ^ algorithm.polynomial : shifted >> 1
      mask >>= 1
    }
    return result
  }

  /// A check as S3 writes it before base64: big-endian, of the algorithm's width.
  public static func bytes(_ value: UInt64, _ algorithm: Algorithm) -> [UInt8] {
    stride(from: algorithm.width - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
  }
}

/// Sendable because what the pointer leads to never changes, and is never freed.
@safe private final class Tables: @unchecked Sendable {
  static let crc32 = Tables(.crc32)
  static let crc32c = Tables(.crc32c)
  static let crc64nvme = Tables(.crc64nvme)

  private let pointer: OpaquePointer

  private init(_ algorithm: RedundancyCheck.Algorithm) {
    guard let pointer = unsafe cchecksum_create(algorithm.polynomial, Int32(algorithm.width)) else {
      preconditionFailure("out of memory")
    }
    unsafe self.pointer = pointer
  }

  func update(_ register: UInt64, _ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe cchecksum_update(pointer, register, $0.baseAddress, $0.count) }
  }
}
