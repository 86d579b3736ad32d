// HTTP dates in all three forms that a recipient must take (RFC 9110 §5.6.7).

extension Timestamp {
  private static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. Years of two
  /// digits that would lie more than 50 years after `near` are of the century before.
  public init?(anyHTTPDate text: String, near: WallTime) {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "," }).map(String.init)
    let isAsctime = !text.contains(",")
    guard words.count == (isAsctime ? 5 : 6), isAsctime || words[5] == "GMT" || words[5] == "UTC",
      let day = Int(words[isAsctime ? 2 : 1]), (1...31).contains(day),
      let month = Self.monthNames.firstIndex(of: words[isAsctime ? 1 : 2]),
      var year = Int(words[isAsctime ? 4 : 3]), Self.years.contains(year)
    else { return nil }
    let time = words[isAsctime ? 3 : 4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
      return nil
    }
    if words[isAsctime ? 4 : 3].utf8.count == 2 {
      let now = Timestamp(seconds: near.seconds).year
      year += now / 100 * 100
      if year > now + 50 { year -= 100 }
    }
    guard year >= 1000, Self.years.contains(year) else { return nil }
    self.init(seconds: 0)
    (self.year, self.month, self.day, hour, minute, second) = (year, month + 1, day, time[0], time[1], time[2])
  }
}
