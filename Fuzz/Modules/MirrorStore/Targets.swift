// Messages of a queue, and the file that remembers what was spent.
import MirrorPlatform

public func fuzzEvents(_ bytes: [UInt8]) {
  let prefix = ObjectKey("a")
  let plain = EventMessage(bytes, bucket: "b", prefix: prefix)
  let all = EventMessage(bytes, bucket: nil, prefix: ObjectKey(""))
  promise((plain == nil) == (all == nil), "what is a message does not depend on the bucket")
  guard let plain, let all else { return }
  promise(
    plain.changes.allSatisfy { $0.key.bytes.starts(with: prefix.bytes) && $0.key != prefix },
    "only keys below the prefix are told")
  promise(plain.changes.count <= all.changes.count, "a bucket's changes are among those of all")
  var order = EventOrder(capacity: 4)
  for change in all.changes {
    _ = order.isNews(change)
    promise(change.sequencer == nil || !order.isNews(change), "what was told is no news")
  }
  promise(order.count <= 4, "memory is bounded")
  // Through SNS the same is told.
  guard let text = String(validating: bytes, as: UTF8.self) else { return }
  let wrapped = JSON.object([("Type", .string("Notification")), ("Message", .string(text))]).text
  if let again = EventMessage(Array(wrapped.utf8), bucket: "b", prefix: prefix) {
    promise(again.changes == plain.changes, "an envelope changes nothing")
  }
}

public func fuzzSpending(_ bytes: [UInt8]) {
  let now = Instant(nanoseconds: 5_000_000_000_000_000)
  let wall = WallTime(seconds: 1_700_000_000)
  guard let saved = SavedSpending(bytes: bytes, now, wall) else { return }
  for period in BudgetLimit.Period.allCases {
    let spent = saved.record.spent(period, before: now)
    promise(spent.requests >= 0 && spent.usd >= 0, "nothing negative is spent")
    for unit in BudgetLimit.Unit.allCases {
      let wait = saved.record.wait(unit, period, downTo: 1, from: now)
      promise(wait >= .zero && wait <= period.length + period.length / 30, "no wait is longer than its period")
    }
  }
  promise(saved.advanceEnds <= now, "what was promised ahead is over")
  let again = SavedSpending(bytes: saved.bytes(now, wall), now, wall)
  promise(again != nil, "what it writes it reads")
}
