// Sizes, durations and numbers as people write them.
import MirrorPlatform
import Testing

@Suite(.timeLimit(.minutes(1)))
struct `Sizes and durations` {
  @Test(arguments: [
    ("0", 0), ("4096", 4096), ("512k", 524_288), ("64MiB", 67_108_864), ("1GB", 1_000_000_000), ("10G", 10_737_418_240),
    ("1.5kB", 1500), ("1.5KiB", 1536), ("2t", 2_199_023_255_552), ("1TB", 1_000_000_000_000), ("7b", 7),
    ("1mb", 1_000_000),
  ])
  func `a size is read`(_ text: String, _ bytes: Int64) { #expect(ByteCount(parsing: text)?.bytes == bytes) }

  @Test(arguments: ["", "x", "-1", "1 GB", "1e5", ".", "1.2.3", "GB", "1PB", "99999999999999999999", "1GBs", "٣"])
  func `what is no size is refused`(_ text: String) { #expect(ByteCount(parsing: text) == nil) }

  @Test(arguments: [
    (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10 << 30, "10.0 GiB"), (3 << 40, "3.0 TiB"),
    (5000 << 40, "5000.0 TiB"),
  ])
  func `a size is written`(_ bytes: Int64, _ text: String) { #expect(ByteCount(bytes).description == text) }

  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("60s", .seconds(60)), ("15m", .seconds(900)), ("15min", .seconds(900)),
    ("1h", .seconds(3600)), ("7d", .seconds(604_800)), ("2w", .seconds(1_209_600)), ("90", .seconds(90)),
    ("0", .zero), ("1.5s", .milliseconds(1500)), ("2H", .seconds(7200)),
  ])
  func `a duration is read`(_ text: String, _ duration: Duration) { #expect(parseDuration(text) == duration) }

  @Test(arguments: ["", "s", "-1s", "1 s", "1y", "1h30m", "1e3", "99999999999h", "."])
  func `what is no duration is refused`(_ text: String) { #expect(parseDuration(text) == nil) }

  @Test(arguments: [
    (Duration.zero, "0ms"), (.milliseconds(500), "500ms"), (.seconds(1), "1s"), (.milliseconds(1500), "1.5s"),
    (.seconds(60), "1m"), (.seconds(90), "90s"), (.seconds(5400), "90m"), (.seconds(3600), "1h"),
    (.seconds(86400), "1d"), (.seconds(90000), "25h"), (.seconds(604_800), "7d"),
  ])
  func `a duration is written so that it can be read`(_ duration: Duration, _ text: String) {
    #expect(formatDuration(duration) == text)
    #expect(parseDuration(text) == duration)
  }

  @Test func `a written duration loses at most a part in a hundred`() throws {
    for seconds in stride(from: 1.0, to: 1e6, by: 977.3) {
      let duration = Duration.nanoseconds(Int64(seconds * 1e9))
      let read = try #require(parseDuration(formatDuration(duration))).secondsValue
      #expect(abs(read - seconds) <= seconds / 100)
    }
  }

  @Test(arguments: [
    (0.0, 2, "0.00"), (1.005, 1, "1.0"), (2.5, 0, "3"), (-1.25, 2, "-1.25"), (-0.001, 2, "0.00"), (0.0004, 4, "0.0004"),
    (123.456, 2, "123.46"), (0.999, 2, "1.00"),
  ])
  func `a number is written with its places`(_ value: Double, _ places: Int, _ text: String) {
    #expect(decimal(value, places: places) == text)
  }
}
