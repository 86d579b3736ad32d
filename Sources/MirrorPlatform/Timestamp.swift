// Calendar forms of time: RFC 3339, HTTP-date (RFC 9110 §5.6.7), and SigV4's basic form.

/// A UTC date and time of the proleptic Gregorian calendar.
public struct Timestamp: Hashable, Sendable {
  public var year: Int
  public var month: Int
  public var day: Int
  public var hour: Int
  public var minute: Int
  public var second: Int

  /// From seconds since 1970.
  public init(seconds: Int64) {
    var days = seconds / 86400
    var rest = seconds % 86400
    if rest < 0 {
      rest += 86400
      days -= 1
    }
    // Days to civil date: eras of 400 years that begin on 1 March.
    let shifted = days + 719468
    let era = (shifted >= 0 ? shifted : shifted - 146096) / 146097
    let dayOfEra = shifted - era * 146097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    hour = Int(rest / 3600)
    minute = Int(rest % 3600 / 60)
    second = Int(rest % 60)
  }

  private init(_ fields: [Int]) {
    (year, month, day, hour, minute, second) = (fields[0], fields[1], fields[2], fields[3], fields[4], fields[5])
  }

  /// Seconds since 1970.
  public var seconds: Int64 {
    let y = Int64(month <= 2 ? year - 1 : year)
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146097 + dayOfEra - 719468
    return days * 86400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// Those of four digits: others are no date of anybody's, and arithmetic ends somewhere.
  static let years = 0...9999
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

  /// `2026-11-30T11:26:57Z`
  public var rfc3339: String {
    "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2))Z"
  }
  /// `20261130T112657Z`
  public var basic: String {
    "\(pad(year, 4))\(pad(month, 2))\(pad(day, 2))T\(pad(hour, 2))\(pad(minute, 2))\(pad(second, 2))Z"
  }
  /// `Mon, 30 Nov 2026 11:26:57 GMT`
  public var httpDate: String {
    var day = (seconds / 86400) % 7
    if seconds % 86400 < 0 { day -= 1 }
    let weekday = Self.weekdays[Int((day + 7) % 7)]
    return
      "\(weekday), \(pad(self.day, 2)) \(Self.months[month - 1]) \(pad(year, 4)) \(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2)) GMT"
  }

  /// An HTTP-date in its preferred form.
  public init?(httpDate text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 6, let day = Int(parts[1]), let month = Self.months.firstIndex(of: String(parts[2])),
      let year = Int(parts[3]), Self.years.contains(year)
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (1...31).contains(day), (0...23).contains(time[0]), (0...59).contains(time[1]),
      (0...60).contains(time[2])
    else { return nil }
    self.init([year, month + 1, day] + time)
  }

  /// `2026-11-30T11:26:57Z`, with or without a fraction or a numeric offset.
  public init?(rfc3339 text: String) {
    let fields = text.split(whereSeparator: { "-T:Z.+ ".contains($0) }).prefix(6).compactMap { Int($0) }
    guard fields.count == 6, Self.years.contains(fields[0]), (1...12).contains(fields[1]), (1...31).contains(fields[2]),
      (0...23).contains(fields[3]),
      (0...59).contains(fields[4]), (0...60).contains(fields[5])
    else { return nil }
    self.init(fields)
    let tail = text.drop { $0 != "T" && $0 != " " }
    if let sign = tail.lastIndex(where: { $0 == "+" || $0 == "-" }) {
      let offset = tail[tail.index(after: sign)...].split(separator: ":").compactMap { Int64($0) }
      guard offset.count == 2, (0...23).contains(offset[0]), (0...59).contains(offset[1]) else { return nil }
      let shift = (offset[0] * 60 + offset[1]) * 60
      self.init(seconds: seconds - (tail[sign] == "+" ? shift : -shift))
    }
  }

  private func pad(_ value: Int, _ width: Int) -> String {
    let digits = String(value.magnitude)
    return (value < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
