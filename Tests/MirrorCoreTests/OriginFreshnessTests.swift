// What header fields come to, by the sections of RFC 9111.
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorCore

@Suite(.timeLimit(.minutes(1))) struct OriginFreshnessTests {
  /// The moment at which every answer below arrives: Sun, 06 Nov 1994 08:49:37 GMT.
  static let received = WallTime(seconds: 784_111_777)
  static let now = "Sun, 06 Nov 1994 08:49:37 GMT"

  struct Case: Sendable, CustomTestStringConvertible {
    let section: String
    let fields: CachingFields
    /// Seconds for which it is fresh, counted from the request; nil: it does not say, and 60 s are the default.
    let lifetime: Int64?
    let stale: Bool
    var testDescription: String { "\(section): \(fields)" }

    init(
      _ section: String, _ control: String? = nil, expires: String? = nil, age: String? = nil, date: String? = nil,
      _ lifetime: Int64?, stale: Bool = true
    ) {
      self.section = section
      fields = CachingFields(cacheControl: control, expires: expires, age: age, date: date)
      (self.lifetime, self.stale) = (lifetime, stale)
    }
  }

  static let cases: [Case] = [
    Case("4.2.1 max-age", "max-age=300", 300),
    Case("4.2.1 nothing said", nil, nil),
    Case("4.2.1 nothing that counts", "public, no-transform", nil),
    Case("5.2.2.10 s-maxage is for shared caches", "s-maxage=10, max-age=600", 600),
    Case("5.2.2.10 s-maxage alone says nothing to us", "s-maxage=10", nil),
    Case("5.2.2.7 private is no hindrance to a private cache", "private, max-age=60", 60),
    Case("5.2.2.8 proxy-revalidate is for shared caches", "proxy-revalidate, max-age=60", 60),
    Case("4.2.1 Expires minus Date", nil, expires: "Sun, 06 Nov 1994 08:59:37 GMT", date: now, 600),
    Case("4.2.1 Expires without Date", nil, expires: "Sun, 06 Nov 1994 08:50:37 GMT", 60),
    Case(
      "4.2.1 Expires by the origin's clock, an hour ahead of ours", nil, expires: "Sun, 06 Nov 1994 09:59:37 GMT",
      date: "Sun, 06 Nov 1994 09:49:37 GMT", 600),
    Case("5.3 max-age over Expires", "max-age=10", expires: "Sun, 06 Nov 1994 09:49:37 GMT", date: now, 10),
    Case("5.3 Expires of 0", nil, expires: "0", date: now, 0),
    Case("5.3 Expires that can't be read", nil, expires: "in an hour", date: now, 0),
    Case("5.3 Expires in the past", nil, expires: "Sat, 05 Nov 1994 08:49:37 GMT", date: now, 0),
    Case("5.3 Expires in the form of RFC 850", nil, expires: "Sunday, 06-Nov-94 08:59:37 GMT", date: now, 600),
    Case("5.3 Expires in the form of asctime", nil, expires: "Sun Nov  6 08:59:37 1994", date: now, 600),
    Case("4.2.1 no number of seconds", "max-age=soon", 0),
    Case("4.2.1 a negative number", "max-age=-5", 0),
    Case("4.2.1 a fraction", "max-age=1.5", 0),
    Case("4.2.1 without an argument", "max-age", 0),
    Case("4.2.1 the first of two", "max-age=10, max-age=600", 10),
    Case("1.2.2 more than can be counted", "max-age=99999999999999999999", Int64(Int32.max)),
    Case("5.2 names in any case", "Max-Age=30", 30),
    Case("5.2 the quoted form", "max-age=\"30\"", 30),
    Case("5.2 a comma in quotes", "ext=\"a,max-age=5\", max-age=30", 30),
    Case("5.2 spaces, tabs and empty members", " ,\t, max-age=30 ,", 30),
    Case("5.2.3 unknown directives", "community=\"UCI\", max-age=30", 30),
    Case("5.2.2.4 no-cache", "no-cache", 0, stale: false),
    Case("4.2.1 of no-cache and max-age the stricter", "no-cache, max-age=600", 0, stale: false),
    Case("5.2.2.4 no-cache for a field counts for all", "no-cache=\"set-cookie\", max-age=600", 0, stale: false),
    Case("5.2.2.5 no-store", "no-store, max-age=600", 0, stale: false),
    Case("5.2.2.3 must-understand lifts no-store", "must-understand, no-store, max-age=600", 600),
    Case("5.2.2.2 must-revalidate", "max-age=60, must-revalidate", 60, stale: false),
    Case("RFC 8246 immutable", "max-age=31536000, immutable", 31_536_000),
    Case("RFC 8246 immutable without a lifetime", "immutable", nil),
    Case("5.1 Age", "max-age=300", age: "100", 200),
    Case("5.1 Age beyond the lifetime", "max-age=300", age: "1000", 0),
    Case("5.1 Age without a lifetime", nil, age: "50", 10),
    Case("5.1 Age that is no number", "max-age=300", age: "-5", 300),
    Case("5.1 the first of two Ages", "max-age=300", age: "10, 200", 290),
    Case("4.2.3 an old Date counts as age", "max-age=300", date: "Sun, 06 Nov 1994 08:48:37 GMT", 240),
    Case("4.2.3 of Date and Age the larger", "max-age=300", age: "100", date: "Sun, 06 Nov 1994 08:48:37 GMT", 200),
    Case("4.2.3 a Date in our future is no age", "max-age=300", date: "Sun, 06 Nov 1994 09:49:37 GMT", 300),
    Case("4.2.3 an old Date alone says nothing", nil, date: "Sun, 06 Nov 1994 07:49:37 GMT", nil),
  ]

  @Test(arguments: cases) func `fields come to a lifetime`(_ row: Case) {
    let asked = Instant(nanoseconds: 5_000_000_000)
    let freshness = OriginFreshness(row.fields, delay: .zero, received: Self.received)
    let plain = FreshnessTerms(lifetime: .seconds(60), staleWhileRevalidate: nil, staleIfError: nil)
    let terms = freshness.map { plain.stated(StatedFreshness($0, asked: asked), validated: asked) } ?? plain
    #expect(terms.lifetime == .seconds(row.lifetime ?? 60))
    #expect((terms.staleIfError == nil) == row.stale)
    if row.lifetime == nil { #expect(freshness?.lifetime == nil) }
  }

  @Test func `the way from the origin is counted once`() throws {
    let asked = Instant(nanoseconds: 1_000_000_000_000)
    // The answer took 10 s; its Date is of the time it was made, 4 s before it came.
    let fields = CachingFields(cacheControl: "max-age=60", age: "3", date: "Sun, 06 Nov 1994 08:49:33 GMT")
    let freshness = try #require(OriginFreshness(fields, delay: .seconds(10), received: Self.received))
    // corrected_age_value = 3 + 10, of which the 10 lie after the request already.
    #expect(freshness.lifetime(validated: asked, asked: asked, otherwise: .zero) == .seconds(57))
    // Date alone would make it older than Age does only when it is further back than the request.
    let old = CachingFields(cacheControl: "max-age=60", age: "3", date: "Sun, 06 Nov 1994 08:49:07 GMT")
    let older = try #require(OriginFreshness(old, delay: .seconds(10), received: Self.received))
    #expect(older.lifetime(validated: asked, asked: asked, otherwise: .zero) == .seconds(40))
  }

  @Test func `a listing later renews max-age without its Age, and does not move a date`() throws {
    let asked = Instant(nanoseconds: 1_000_000_000_000)
    let page = asked + .seconds(30)
    let counted = try #require(
      OriginFreshness(CachingFields(cacheControl: "max-age=60", age: "20"), delay: .zero, received: Self.received))
    #expect(counted.lifetime(validated: asked, asked: asked, otherwise: .zero) == .seconds(40))
    #expect(counted.lifetime(validated: page, asked: asked, otherwise: .zero) == .seconds(60))
    let dated = try #require(
      OriginFreshness(
        CachingFields(expires: "Sun, 06 Nov 1994 08:50:37 GMT", date: Self.now), delay: .zero, received: Self.received))
    #expect(dated.lifetime(validated: page, asked: asked, otherwise: .zero) == .seconds(30))
    #expect(dated.lifetime(validated: asked + .seconds(90), asked: asked, otherwise: .zero) == .zero)
    #expect(dated.lifetime(validated: .distantPast, asked: .distantPast, otherwise: .zero) == .zero)
  }

  @Test(
    arguments: [
      (nil, nil, "max-age=60, stale-while-revalidate=30, stale-if-error=100", 30, 100),
      (10, nil, "max-age=60, stale-while-revalidate=30", 10, nil),
      (100, 50, "stale-while-revalidate=30, stale-if-error=100", 30, 50),
      (10, 500, "max-age=60", 10, 500), (nil, 10, "max-age=60, stale-if-error=oops", 0, 0),
      (10, nil, "max-age=60, must-revalidate, stale-if-error=100, stale-while-revalidate=100", 0, 0),
      (10, nil, "no-cache, stale-if-error=100", 0, 0),
    ] as [(Int64?, Int64?, String, Int64, Int64?)])
  func `of two bounds the tighter counts`(
    revalidate: Int64?, error: Int64?, control: String, expectedRevalidate: Int64, expectedError: Int64?
  ) throws {
    let plain = FreshnessTerms(
      lifetime: .seconds(60), staleWhileRevalidate: revalidate.map { .seconds($0) },
      staleIfError: error.map { .seconds($0) })
    let freshness = try #require(
      OriginFreshness(CachingFields(cacheControl: control), delay: .zero, received: Self.received))
    let terms = plain.stated(StatedFreshness(freshness, asked: .distantPast), validated: .distantPast)
    #expect(terms.staleWhileRevalidate == .seconds(expectedRevalidate))
    #expect(terms.staleIfError == expectedError.map { .seconds($0) })
  }

  @Test(arguments: cases) func `what an object said survives as text`(_ row: Case) {
    guard let freshness = OriginFreshness(row.fields, delay: .zero, received: Self.received) else { return }
    let clock = ManualClock()
    let (now, wall) = (clock.now(), clock.wall())
    let stated = StatedFreshness(freshness, asked: now)
    let text = stated.text { WallTime(milliseconds: wall.milliseconds - (now - $0).nanosecondsClamped / 1_000_000) }
    let again = StatedFreshness(text) { now + .milliseconds($0.milliseconds - wall.milliseconds) }
    #expect(again?.freshness == freshness, "\(text)")
    #expect(again?.asked == now || again?.asked == .distantPast)
    #expect(text.utf8.count < 200)
  }

  @Test func `a 304 that is silent renews the age and leaves the rest`() throws {
    let first = try #require(
      OriginFreshness(
        CachingFields(cacheControl: "max-age=60, must-revalidate", age: "50"), delay: .zero, received: Self.received))
    let renewed = first.renewed(by: CachingFields(age: "5"), delay: .zero, received: Self.received)
    #expect(renewed.lifetime == 60 && renewed.age == 5 && renewed.duties == .mustRevalidate)
  }
}
