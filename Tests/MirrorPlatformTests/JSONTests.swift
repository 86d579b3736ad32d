// JSON read and written.
import MirrorPlatform
import Testing

@Suite("JSON", .timeLimit(.minutes(1)))
struct JSONTests {
  private func parsed(_ text: String) -> JSON? { JSON(parsing: Array(text.utf8)) }

  @Test(arguments: [
    #"{"a":1,"b":[true,false,null],"c":{"d":"e"}}"#, "[]", "{}", #""x""#, "-12", #"[1,"\n\t\"\\",{"z":[]}]"#,
  ])
  func `what is read is written the same`(text: String) { #expect(parsed(text)?.text == text) }

  @Test func `blanks, escapes and pairs of surrogates are read`() {
    #expect(parsed(" {\n \"a\" :\t[ 1 , 2 ]\r} ")?.text == #"{"a":[1,2]}"#)
    #expect(parsed(#""\u00e9\u20ac\ud83d\ude00\/\b\f""#)?.string == "é€😀/\u{8}\u{C}")
    #expect(parsed("1.50")?.text == "1.50")
    #expect(parsed("1700000000000")?.int == 1_700_000_000_000)
    #expect(parsed(#"{"a":1,"a":2}"#)?["a"]?.int == 2)
    #expect(parsed("[1]")?["a"] == nil)
  }

  @Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "1.", ".5", "+1", "-", "1e", "tru", "nul", "\"",
    "\"\u{1}\"", #""\x""#, #""\ud83d""#, #""\ude00""#, #""\u12g4""#, "1 2", "[1] x", "'a'", "NaN", "1e999",
    String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
  ])
  func `what is no JSON is refused`(text: String) { #expect(parsed(text) == nil) }

  @Test func `bytes that are no UTF-8 are refused`() { #expect(JSON(parsing: [0x22, 0xFF, 0x22]) == nil) }
}
