// Digests against published vectors.
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Digests` {
  // FIPS 180-2, RFC 1321 A.5.
  @Test(arguments: [
    (Digest.Algorithm.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
    (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
  ])
  func `agree with the standards`(_ algorithm: Digest.Algorithm, _ text: String, _ value: String) {
    #expect(hexadecimal(Digest.value(algorithm, of: Array(text.utf8))) == value)
  }

  @Test func `may take their bytes in parts, and begin anew`() {
    let digest = Digest(.sha256)
    digest.update(Array("a".utf8))
    digest.update([])
    digest.update(Array("bc".utf8))
    #expect(hexadecimal(digest.finish()).hasPrefix("ba7816bf"))
    digest.update(Array("abc".utf8))
    #expect(hexadecimal(digest.finish()).hasPrefix("ba7816bf"))
  }

  // RFC 4231, cases 1, 2 and 6.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func `HMAC agrees with RFC 4231`(_ key: [UInt8], _ text: String, _ value: String) {
    #expect(hexadecimal(hmacSHA256(key: key, Array(text.utf8))) == value)
  }

  // Values of the reference implementation.
  @Test(
    arguments: [
      ([], 0x2d06_8005_38d3_94c2), (Array("a".utf8), 0xe6c6_32b6_1e96_4e1f), (Array("abc".utf8), 0x78af_5f94_892f_3950),
      (Array(repeating: Array(0...255), count: 8).flatMap { $0 }, 0xdd42_0471_ff96_bd00),
    ] as [([UInt8], UInt64)])
  func `a block's digest is XXH3, whole or in parts`(_ bytes: [UInt8], _ value: UInt64) {
    #expect(stableHash(bytes) == value)
    #expect(bytes.withUnsafeBytes { BlockDigest.value(of: $0) } == value)
    let digest = BlockDigest()
    digest.update([9, 9].withUnsafeBytes { $0 })
    digest.reset()
    for part in [bytes.prefix(bytes.count / 3), bytes.dropFirst(bytes.count / 3)] {
      Array(part).withUnsafeBytes { digest.update($0) }
    }
    #expect(digest.value == value)
  }
}
