// Keys, tags and revisions.
import MirrorPlatform
import MirrorStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Object keys` {
  @Test func `are ordered by their bytes, as S3 lists them`() {
    let texts = ["", "A", "a", "a-b", "a.b", "a/b", "a0", "b", "\u{FFFD}", "\u{10000}"]
    let keys = texts.map { ObjectKey($0) }
    #expect(keys.shuffled().sorted() == keys)
    #expect(ObjectKey([0x61]) < ObjectKey([0x61, 0]))
    #expect(ObjectKey([0x7F]) < ObjectKey([0x80]))
  }

  @Test func `composed and decomposed letters are different keys`() {
    let composed = "caf\u{E9}"
    let decomposed = "cafe\u{301}"
    #expect(composed == decomposed)
    #expect(ObjectKey(composed) != ObjectKey(decomposed))
    #expect(Set([ObjectKey(composed), ObjectKey(decomposed)]).count == 2)
    #expect(ObjectKey(decomposed) < ObjectKey(composed))
  }

  @Test func `need not be text`() {
    let key = ObjectKey([0x61, 0xFF])
    #expect(key.text == nil)
    #expect(key.description == "a\u{FFFD}")
    #expect(key != ObjectKey([0x61, 0xFE]))
    #expect(ObjectKey("é/x").text == "é/x")
    #expect(ObjectKey([0]).text == "\0")
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `Entity tags` {
  static let md5 = "\"9e107d9d372bb6826bd81d3542a419d6\""

  @Test(arguments: [
    md5, "\"9E107D9D372BB6826BD81D3542A419D6\"", "9e107d9d372bb6826bd81d3542a419d6",
    "\"72d27afac8e2fbd3662861b9d607a02c-2\"",
    "W/\"abc\"", "\"\"", "", "\"abc", "\"9e107d9d372bb6826bd81d3542a419dz\"", "\"00000000000000000000000000000000\"",
    "\"ffffffffffffffffffffffffffffffff\"", "\"caf\u{E9}\"",
  ])
  func `are given back as received`(_ text: String) {
    #expect(EntityTag(text).bytes == Array(text.utf8))
    #expect(EntityTag(text) == EntityTag(Array(text.utf8)))
  }

  @Test func `differ when a byte differs`() {
    let tags = [Self.md5, "\"9E107D9D372BB6826BD81D3542A419D6\"", "9e107d9d372bb6826bd81d3542a419d6", "W/\(Self.md5)"]
    #expect(Set(tags.map { EntityTag($0) }).count == tags.count)
  }

  @Test func `of the form of an MD5 give its bytes`() {
    #expect(EntityTag(Self.md5).md5.map { hexadecimal($0) } == "9e107d9d372bb6826bd81d3542a419d6")
    #expect(EntityTag("\"72d27afac8e2fbd3662861b9d607a02c-2\"").md5 == nil)
    #expect(EntityTag("9e107d9d372bb6826bd81d3542a419d6").md5 == nil)
  }

  @Test func `are weak or not, and shown without quotes`() {
    #expect(EntityTag("W/\"abc\"").isWeak)
    #expect(!EntityTag(Self.md5).isWeak)
    #expect(!EntityTag("\"W/abc\"").isWeak)
    #expect(EntityTag(Self.md5).description == "9e107d9d372bb6826bd81d3542a419d6")
  }
}

@Suite(.timeLimit(.minutes(1)))
struct `Revisions` {
  private func revision(_ etag: String?, _ size: Int64, _ modified: Int64?) -> ObjectRevision {
    ObjectRevision(etag: etag.map { EntityTag($0) }, size: size, modified: modified)
  }

  @Test func `with one tag and size are the same bytes, whatever the time`() {
    #expect(revision("\"a\"", 1, 10).sameBytes(as: revision("\"a\"", 1, 20)))
    #expect(!revision("\"a\"", 1, 10).sameBytes(as: revision("\"b\"", 1, 10)))
    #expect(!revision("\"a\"", 1, 10).sameBytes(as: revision("\"a\"", 2, 10)))
  }

  @Test func `without a tag are told apart by time and size`() {
    #expect(revision(nil, 1, 10).sameBytes(as: revision(nil, 1, 10)))
    #expect(revision("\"a\"", 1, 10).sameBytes(as: revision(nil, 1, 10)))
    #expect(!revision(nil, 1, 10).sameBytes(as: revision(nil, 1, 11)))
    #expect(!revision(nil, 1, nil).sameBytes(as: revision(nil, 1, nil)))
  }
}
