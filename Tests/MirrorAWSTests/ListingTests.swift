// Listings as servers really send them.
import MirrorStore
import Synchronization
import Testing

@testable import MirrorAWS

@Suite("Listings", .timeLimit(.minutes(1)))
struct ListingTests {
  /// Fed in pieces, so that every boundary is crossed.
  private func parse(_ bytes: [UInt8], piece: Int = 7) -> ListingReader.Outcome {
    let reader = ListingReader()
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(piece))
      if !reader.receive(part.span.bytes) { break }
      rest = rest.dropFirst(piece)
    }
    return reader.finish()
  }

  private func feed(_ bytes: ArraySlice<UInt8>, to reader: ListingReader) -> Bool {
    let bytes = Array(bytes)
    return reader.receive(bytes.span.bytes)
  }

  private func parse(_ text: String, piece: Int = 7) -> ListingReader.Outcome { parse(Array(text.utf8), piece: piece) }

  private func page(_ text: String, piece: Int = 7) throws -> ListPage {
    guard case .page(let page, _, _) = parse(text, piece: piece) else {
      Issue.record("no page: \(parse(text))")
      throw Absent()
    }
    return page
  }
  private struct Absent: Error {}

  private func isMalformed(_ bytes: [UInt8], piece: Int = 7) -> Bool {
    if case .malformed = parse(bytes, piece: piece) { return true }
    return false
  }

  private let whole = """
    <?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>p%2F</Prefix>\
    <KeyCount>2</KeyCount><IsTruncated>true</IsTruncated><NextContinuationToken>a+b%2F=</NextContinuationToken>\
    <Contents><Key>p/a+b%2Bc%00%FF%C3%A9</Key><LastModified>2026-11-30T11:26:57.987Z</LastModified>\
    <ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>5000000000</Size>\
    <StorageClass>STANDARD</StorageClass><Owner><ID>x</ID><Key>no</Key></Owner></Contents>\
    <Contents><Key>p/z</Key><LastModified>2026-11-30T11:26:57Z</LastModified>\
    <ETag>abc-2</ETag><Size>0</Size><StorageClass>GLACIER</StorageClass></Contents>\
    <CommonPrefixes><Prefix>p/d+1/</Prefix></CommonPrefixes><EncodingType>url</EncodingType></ListBucketResult>
    """

  @Test func `where a listing goes on is told before the keys are through`() throws {
    let told = Mutex<[String]>([])
    let reader = ListingReader { token in told.withLock { $0.append(token) } }
    let bytes = Array(whole.utf8)
    #expect(feed(bytes[..<360], to: reader))
    #expect(told.withLock { $0 } == ["a+b%2F="])
    #expect(feed(bytes[360...], to: reader))
    guard case .page(let page, _, _) = reader.finish() else { throw Absent() }
    #expect(page.objects.count == 2)
    #expect(told.withLock { $0 } == ["a+b%2F="])
  }

  @Test func `a last page tells of none`() throws {
    let reader = ListingReader { Issue.record("told \($0)") }
    #expect(feed(Array(whole.replacing("true", with: "false").utf8)[...], to: reader))
    _ = reader.finish()
  }

  @Test(arguments: [1, 7, 4096]) func `a page is read whatever its pieces`(piece: Int) throws {
    let page = try page(whole, piece: piece)
    #expect(page.next == "a+b%2F=")
    #expect(page.prefixes == [ObjectKey("p/d 1/")])
    #expect(page.objects.count == 2)
    #expect(page.objects[0].key.bytes == Array("p/a b+c".utf8) + [0x00, 0xFF, 0xC3, 0xA9])
    #expect(
      page.objects[0].revision
        == ObjectRevision(
          etag: EntityTag("\"d41d8cd98f00b204e9800998ecf8427e\""), size: 5_000_000_000, modified: 1_796_038_017))
    #expect(page.objects[0].storageClass == nil)
    #expect(page.objects[1].revision.etag == EntityTag("\"abc-2\""))
    #expect(page.objects[1].storageClass == "GLACIER")
  }

  @Test func `keys are decoded only where the answer says that they are encoded`() throws {
    let page = try page("<ListBucketResult><Contents><Key>a+b%2F</Key><Size>1</Size></Contents></ListBucketResult>")
    #expect(page.objects.first?.key == ObjectKey("a+b%2F"))
    #expect(page.next == nil)
  }

  @Test func `an entry with nothing but a key is still an entry`() throws {
    let text = "<ListBucketResult><Contents><Key>k</Key></Contents><Contents/></ListBucketResult>"
    guard case .page(let page, let unsized, _) = parse(text) else { throw Absent() }
    #expect(page.objects.map(\.key) == [ObjectKey("k")])
    #expect(unsized == [0])
    #expect(page.objects[0].revision.etag == nil && page.objects[0].revision.modified == nil)
  }

  @Test(arguments: Array(UInt8(1)...0x1F) + [0x7F])
  func `a control byte in a key arrives, as a reference or encoded`(byte: UInt8) throws {
    let hex = (byte < 16 ? "0" : "") + String(byte, radix: 16)
    for key in ["a&#x\(hex);&amp;b", "a&#\(byte);&#38;b"] {
      let page = try page(
        "<ListBucketResult><Contents><Key>\(key)</Key><Size>1</Size></Contents><Contents><Key>z</Key><Size>1</Size></Contents></ListBucketResult>"
      )
      #expect(page.objects.map(\.key.bytes) == [[0x61, byte, 0x26, 0x62], [0x7A]])
    }
    let encoded = try page(
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%\(hex)b</Key><Size>1</Size></Contents></ListBucketResult>"
    )
    #expect(encoded.objects.map(\.key.bytes) == [[0x61, byte, 0x62]])
  }

  @Test func `characters beyond XML at the end of the basic plane arrive`() throws {
    let page = try page(
      "<ListBucketResult><Contents><Key>a&#xFFFE;&#xFFFF;</Key><Size>1</Size></Contents></ListBucketResult>")
    #expect(page.objects.first?.key.bytes == [0x61, 0xEF, 0xBF, 0xBE, 0xEF, 0xBF, 0xBF])
  }

  @Test(arguments: [1, 2, 3, 4096], ["", "n", "\u{E9}", "&amp;", "\u{1}"])
  func `noncharacters that stand in the text arrive once, in their place`(piece: Int, before: String) throws {
    let raw = before == "&amp;" ? "&" : before
    for name in ["\u{FFFE}", "\u{FFFF}x", "\u{FFFE}\u{FFFE}\u{1}\u{FFFF}", "x\u{FFFF}\u{E9}"] {
      let page = try page(
        "<ListBucketResult><Contents><Key>\(before)\(name)</Key></Contents><Contents><Key>z</Key></Contents></ListBucketResult>",
        piece: piece)
      #expect(page.objects.map(\.key.bytes) == [Array((raw + name).utf8), [0x7A]])
    }
  }

  @Test(arguments: ["<!-- \u{1} -->", "<!-- \u{FFFE} -->", "<a b='\u{FFFE}'/>", "<a\u{FFFE}/>", "<![CDATA[\u{FFFE}]]>"])
  func `forbidden characters outside of text are an error`(part: String) {
    #expect(isMalformed(Array("<ListBucketResult><Contents><Key>k\(part)</Key></Contents></ListBucketResult>".utf8)))
  }

  @Test(arguments: [1, 7, 4096])
  func `an answer is UTF-8 whatever it says, and what is not is an error`(piece: Int) throws {
    let latin = whole.replacing("UTF-8", with: "ISO-8859-1")
    #expect(try page(latin, piece: piece).objects == page(whole).objects)
    #expect(try page("\u{FEFF}" + whole, piece: piece).objects == page(whole).objects)
    for declared in ["UTF-8", "ISO-8859-1", "UTF08", "UTF-16"] {
      let text = whole.replacing("UTF-8", with: declared).replacing("p/z", with: "p/#")
      #expect(isMalformed(text.utf8.map { $0 == UInt8(ascii: "#") ? 0xE9 : $0 }, piece: piece))
    }
    let low = whole.utf16.flatMap { unit -> [UInt8] in [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)] }
    let high = whole.utf16.flatMap { unit -> [UInt8] in [UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)] }
    for bytes in [low, high, [0xFF, 0xFE] + low] {
      #expect(isMalformed(bytes, piece: piece))
    }
  }

  @Test func `a document cut anywhere is no page`() {
    let bytes = Array(whole.utf8)
    for count in stride(from: 0, to: bytes.count - 1, by: 13) {
      #expect(isMalformed(Array(bytes.prefix(count))), "cut at \(count)")
    }
  }

  @Test(arguments: [
    "", " ", "<html><body>Please log in</body></html>", "<!DOCTYPE html><html><br></html>",
    "<!DOCTYPE ListBucketResult><ListBucketResult/>", "{\"error\": 1}",
    "<!DOCTYPE l [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;\">]><ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>",
    "<!DOCTYPE l SYSTEM \"http://127.0.0.1:1/x.dtd\"><ListBucketResult/>",
    "<ListBucketResult><Contents><Key>&unknown;</Key></Contents></ListBucketResult>",
    "<ListBucketResult><Contents><Key>a</Contents></Key></ListBucketResult>",
    "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
    "<ListBucketResult/><ListBucketResult/>", "<LocationConstraint/>",
  ])
  func `what is no listing is an error`(text: String) { #expect(isMalformed(Array(text.utf8))) }

  @Test func `depth and length are bounded`() {
    let deep = String(repeating: "<a>", count: 50) + String(repeating: "</a>", count: 50)
    #expect(isMalformed(Array("<ListBucketResult>\(deep)</ListBucketResult>".utf8)))
    let long = [UInt8](repeating: 0x61, count: 70 << 10)
    #expect(
      isMalformed(
        Array("<ListBucketResult><Contents><Key>".utf8) + long + Array("</Key></Contents></ListBucketResult>".utf8)))
  }

  @Test func `an error in a 200 is one`() throws {
    guard case .error(let document) = parse("<Error><Code>InternalError</Code><Message>m</Message></Error>") else {
      throw Absent()
    }
    #expect(document.code == "InternalError")
  }

  @Test func `an empty listing is a page`() throws {
    let page = try page("<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>")
    #expect(page.objects.isEmpty && page.prefixes.isEmpty && page.next == nil)
  }

  @Test(arguments: [
    ("2026-11-30T11:26:57.000Z", 1_796_038_017), ("2026-11-30T11:26:57Z", 1_796_038_017),
    ("1970-01-01T00:00:00.999999999Z", 0), ("1969-12-31T23:59:59Z", -1), ("2038-01-19T03:14:08Z", 2_147_483_648),
  ]) func `times are cut to seconds`(text: String, seconds: Int64) {
    #expect(ListingText.seconds(Array(text.utf8)) == seconds)
  }

  @Test(arguments: ["", "x", "2026-13-30T11:26:57Z", "2026-11-30T1a:26:57Z", "now"])
  func `a time that is none is nil`(text: String) { #expect(ListingText.seconds(Array(text.utf8)) == nil) }
}
