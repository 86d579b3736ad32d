// Bytes as text, and JSON.
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Bytes as text` {
  // RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `base64 goes both ways`(_ plain: String, _ coded: String) {
    #expect(base64(Array(plain.utf8)) == coded)
    #expect(bytes(base64: coded) == Array(plain.utf8))
  }

  @Test func `base64 carries every byte`() {
    let all = [UInt8](0...255)
    #expect(bytes(base64: base64(all)) == all)
  }

  @Test(arguments: ["Z", "Zg", "Zg=", "Zg=a", "Z===", "====", "Zm9\n", "Zm9-"])
  func `what is not base64 is refused`(_ text: String) { #expect(bytes(base64: text) == nil) }

  @Test func `hexadecimal goes both ways`() {
    #expect(hexadecimal([0, 0x1F, 0xAB, 0xFF]) == "001fabff")
    #expect(bytes(hexadecimal: Array("001fABff".utf8)) == [0, 0x1F, 0xAB, 0xFF])
    #expect(bytes(hexadecimal: Array("0g".utf8)) == nil)
    #expect(bytes(hexadecimal: Array("abc".utf8)) == nil)
  }

  @Test func `percent-encoding leaves the unreserved, and a slash where wanted`() {
    let key = Array("a/B-._~ +%é!*'()".utf8)
    #expect(percentEncoded(key, keepingSlash: true) == "a/B-._~%20%2B%25%C3%A9%21%2A%27%28%29")
    #expect(percentEncoded(Array("a/b".utf8), keepingSlash: false) == "a%2Fb")
  }

  @Test func `percent-encoding carries every byte`() {
    let all = [UInt8](0...255)
    #expect(percentDecoded(Array(percentEncoded(all, keepingSlash: true).utf8), form: false) == all)
    #expect(percentDecoded(Array(percentEncoded(all, keepingSlash: false).utf8), form: true) == all)
  }

  @Test(arguments: [
    ("a+b", true, "a b"), ("a+b", false, "a+b"), ("a%2Bb", true, "a+b"), ("100%", false, "100%"), ("%4", false, "%4"),
    ("%zz%41", false, "%zzA"), ("%2541", false, "%41"), ("%c3%A9", false, "é"),
  ])
  func `percent-decoding takes one layer, and leaves a lone sign`(_ coded: String, _ form: Bool, _ plain: String) {
    #expect(percentDecoded(Array(coded.utf8), form: form) == Array(plain.utf8))
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `JSON text` {
  @Test func `keeps the order of members and writes one line`() {
    let value = JSON.object([
      ("z", .int(-3)), ("a", .array([.null, .bool(true), .bool(false)])), ("cost", .decimal(0.00052, places: 6)),
      ("none", .decimal(.infinity, places: 2)), ("empty", .object([])),
    ])
    #expect(value.text == #"{"z":-3,"a":[null,true,false],"cost":0.000520,"none":null,"empty":{}}"#)
  }

  @Test func `escapes what would break a line or a string`() {
    #expect(JSON.string("a\"b\\c\n\t\r\u{1}\u{7F}é漢").text == #""a\"b\\c\n\t\r\u0001\u007fé漢""#)
    #expect(JSON.object([("k\n", .null)]).text == #"{"k\n":null}"#)
  }

  @Test func `a line end of two characters is escaped too`() {
    // "\r\n" is one Character.
    #expect(JSON.string("a\r\nb").text == #""a\r\nb""#)
  }
}
