// The calendar month that a bill is for, in UTC days since 1970.
import MirrorPlatform
import MirrorStore

struct BillingMonth: Equatable, Sendable {
  let today: Int64
  let firstDay: Int64
  /// `2026-11`
  let name: String
  /// What is left of it.
  let rest: Duration

  init(at time: WallTime) {
    today = Ledger.day(time)
    var date = Timestamp(seconds: today * 86400)
    name = String(date.rfc3339.prefix(7))
    date.day = 1
    firstDay = date.seconds / 86400
    date.month = date.month == 12 ? 1 : date.month + 1
    if date.month == 1 { date.year += 1 }
    rest = WallTime(seconds: date.seconds) - time
  }
}
