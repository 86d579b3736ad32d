// Cyclic redundancy checks against published vectors, and against their own definition.
import MirrorPlatform
import Testing

@Suite("Redundancy checks", .timeLimit(.minutes(1)))
struct RedundancyCheckTests {
  private func value(_ algorithm: RedundancyCheck.Algorithm, _ bytes: some Collection<UInt8>) -> UInt64 {
    var check = RedundancyCheck(algorithm)
    check.update(Array(bytes).span.bytes)
    return check.value
  }

  @Test(arguments: [
    (RedundancyCheck.Algorithm.crc32, "123456789", "y/Q5Jg=="), (.crc32, "Hello, world!", "6+bG5g=="),
    (.crc32, "", "AAAAAA=="), (.crc32c, "123456789", "4waSgw=="), (.crc32c, "Hello, world!", "yKEG5Q=="),
    (.crc64nvme, "123456789", "rosUhgp5mIg="), (.crc64nvme, "Hello, world!", "n3hVaQAaPTQ="),
    (.crc64nvme, "", "AAAAAAAAAAA="),
  ])
  func `agree with S3's own words`(_ algorithm: RedundancyCheck.Algorithm, _ text: String, _ expected: String) {
    #expect(base64(RedundancyCheck.bytes(value(algorithm, text.utf8), algorithm)) == expected)
  }

  /// One bit after the other.
  private func bitwise(_ bytes: some Collection<UInt8>, _ polynomial: UInt64, ones: UInt64) -> UInt64 {
    var register = ones
    for byte in bytes {
      register ^= UInt64(byte)
      for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ polynomial : register >> 1 }
    }
    return register ^ ones
  }

  private let body = (0..<3000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) }

  @Test(arguments: [
    (RedundancyCheck.Algorithm.crc32, 0xEDB8_8320, 0xFFFF_FFFF), (.crc32c, 0x82F6_3B78, 0xFFFF_FFFF),
    (.crc64nvme, 0x9A6C_9329_AC4B_C9B5, UInt64.max),
  ])
  func `are the same of any length, from any place, in any pieces`(
    _ algorithm: RedundancyCheck.Algorithm, _ polynomial: UInt64, _ ones: UInt64
  ) {
    for count in Array(0...200) + [255, 256, 1000, 2999] {
      let part = body[(count % 13)..<min(body.count, count % 13 + count)]
      #expect(value(algorithm, part) == bitwise(part, polynomial, ones: ones), "\(count) bytes")
    }
    var check = RedundancyCheck(algorithm)
    var rest = body[...]
    for count in [1, 63, 64, 65, 500, 7, 2300] {
      check.update(Array(rest.prefix(count)).span.bytes)
      rest = rest.dropFirst(count)
    }
    #expect(check.value == bitwise(body, polynomial, ones: ones))
  }

  @Test(arguments: RedundancyCheck.Algorithm.allCases)
  func `of two runs join to that of both`(_ algorithm: RedundancyCheck.Algorithm) {
    for cut in [0, 1, 8, 1000, 2999, 3000] {
      let joined = RedundancyCheck.joined(
        algorithm, value(algorithm, body[..<cut]), value(algorithm, body[cut...]), secondCount: Int64(3000 - cut))
      #expect(joined == value(algorithm, body), "cut at \(cut)")
    }
    // Parts `aaaaa` and `bbb`.
    if algorithm == .crc32 {
      let joined = RedundancyCheck.joined(
        .crc32, value(.crc32, "aaaaa".utf8), value(.crc32, "bbb".utf8), secondCount: 3)
      #expect(base64(RedundancyCheck.bytes(joined, .crc32)) == "D+Y8Zg==")
    }
  }
}
