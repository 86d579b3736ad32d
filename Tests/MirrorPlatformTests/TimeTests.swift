// Calendars and clocks.
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Calendar time` {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
    (-1, "1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
    (-86400, "1969-12-31T00:00:00Z", "Wed, 31 Dec 1969 00:00:00 GMT"),
    (951_782_400, "2000-02-29T00:00:00Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
    (1_709_251_199, "2024-02-29T23:59:59Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
    (2_147_483_648, "2038-01-19T03:14:08Z", "Tue, 19 Jan 2038 03:14:08 GMT"),
    (4_107_542_400, "2100-03-01T00:00:00Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
    (-2_203_891_200, "1900-03-01T00:00:00Z", "Thu, 01 Mar 1900 00:00:00 GMT"),
    (253_402_300_799, "9999-12-31T23:59:59Z", "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func `goes both ways`(_ seconds: Int64, _ rfc3339: String, _ http: String) {
    let time = Timestamp(seconds: seconds)
    #expect(time.rfc3339 == rfc3339)
    #expect(time.httpDate == http)
    #expect(time.seconds == seconds)
    #expect(Timestamp(rfc3339: rfc3339) == time)
    #expect(Timestamp(httpDate: http) == time)
  }

  @Test(arguments: ["10000", "99999999999", "9223372036854775807"])
  func `a year of other than four digits is no date`(year: String) {
    let now = WallTime(seconds: 1_700_000_000)
    #expect(Timestamp(httpDate: "Mon, 30 Nov \(year) 11:26:57 GMT") == nil)
    #expect(Timestamp(anyHTTPDate: "Mon, 30 Nov \(year) 11:26:57 GMT", near: now) == nil)
    #expect(Timestamp(anyHTTPDate: "Mon Nov 30 11:26:57 \(year)", near: now) == nil)
    #expect(Timestamp(rfc3339: "\(year)-11-30T11:26:57Z") == nil)
  }

  @Test(arguments: ["+24:00", "-00:60", "+9223372036854775807:00"])
  func `an offset has hours and minutes`(offset: String) {
    #expect(Timestamp(rfc3339: "2026-11-30T11:26:57\(offset)") == nil)
  }

  @Test func `every day of four centuries follows the one before`() {
    var last = Timestamp(seconds: -11_644_473_600)
    for day in -134_773...12_000 {
      let time = Timestamp(seconds: Int64(day) * 86400)
      #expect(time.seconds == Int64(day) * 86400)
      if day > -134_773 {
        let next = time.day == last.day + 1 && time.month == last.month && time.year == last.year
        let newMonth =
          time.day == 1 && last.day >= 28 && (time.month == last.month + 1 || (time.month == 1 && last.month == 12))
        if !next && !newMonth { Issue.record("\(last.rfc3339) is followed by \(time.rfc3339)") }
      }
      last = time
    }
  }

  @Test func `SigV4's form is the basic one`() {
    #expect(Timestamp(seconds: 1_369_353_600).basic == "20130524T000000Z")
  }

  @Test(arguments: [
    ("2026-11-30T11:26:57.123Z", "2026-11-30T11:26:57Z"), ("2026-11-30T11:26:57+02:00", "2026-11-30T09:26:57Z"),
    ("2026-11-30T23:30:00-03:30", "2026-12-01T03:00:00Z"), ("2026-11-30T11:26:57.5+00:00", "2026-11-30T11:26:57Z"),
    ("2026-11-30 11:26:57Z", "2026-11-30T11:26:57Z"),
  ])
  func `RFC 3339 may have a fraction or an offset`(_ text: String, _ utc: String) {
    #expect(Timestamp(rfc3339: text)?.rfc3339 == utc)
  }

  @Test(arguments: [
    "", "2026-11-30", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-30T24:00:00Z", "yesterday",
  ])
  func `what is no RFC 3339 is refused`(_ text: String) { #expect(Timestamp(rfc3339: text) == nil) }

  @Test(arguments: [
    "", "0", "-1", "Mon, 30 Nov 2026", "Mon, 99 Nov 2026 11:26:57 GMT", "Mon, 30 Foo 2026 11:26:57 GMT",
  ])
  func `what is no HTTP date is refused`(_ text: String) { #expect(Timestamp(httpDate: text) == nil) }
}

@Suite(.timeLimit(.minutes(1)))
struct `Clocks` {
  @Test func `a manual clock moves when told to`() {
    let clock = ManualClock(wall: WallTime(seconds: 100))
    let (now, wall) = (clock.now(), clock.wall())
    #expect(clock.now() == now)
    clock.advance(.milliseconds(1500))
    #expect(clock.now() - now == .milliseconds(1500))
    #expect(clock.wall() - wall == .milliseconds(1500))
    clock.stepWall(.seconds(-60))
    #expect(clock.now() - now == .milliseconds(1500))
    #expect(clock.wall() < wall)
  }

  @Test func `the system's clock goes forward and knows the year`() {
    let clock = SystemClock()
    let first = clock.now()
    #expect(clock.now() >= first)
    #expect(clock.wall().seconds > 1_700_000_000)
  }

  @Test func `wall time before 1970 rounds down`() {
    #expect(WallTime(milliseconds: -1).seconds == -1)
    #expect(WallTime(milliseconds: -1000).seconds == -1)
    #expect(WallTime(milliseconds: -1001).seconds == -2)
    #expect(WallTime(milliseconds: 1999).seconds == 1)
  }

  @Test func `no number of a file or an answer is too far away`() {
    for far in [Int64.min, .min + 1, -1, 0, .max - 1, .max] {
      let time = WallTime(milliseconds: far)
      #expect(time - WallTime(seconds: 1) == .milliseconds(far) - .seconds(1))
      #expect(WallTime(seconds: 1) - time == .seconds(1) - .milliseconds(far))
    }
    #expect(WallTime(milliseconds: .min).seconds == -9_223_372_036_854_776)
    #expect(WallTime(seconds: .max).milliseconds == .max && WallTime(seconds: .min).milliseconds == .min)
  }

  @Test func `far durations are held at the ends`() {
    #expect(Duration.seconds(Int64.max).nanosecondsClamped == .max)
    #expect(Duration.seconds(-1 << 60).nanosecondsClamped == .min)
    #expect(Instant(nanoseconds: 5) + .seconds(Int64.max) == Instant(nanoseconds: .max))
    #expect(Instant.distantPast < Instant(nanoseconds: .min + 1))
    #expect(Duration.milliseconds(-1500).secondsValue == -1.5)
  }
}
