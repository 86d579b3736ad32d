// Families of traces that move, beat, or mean harm.
import MirrorPlatform
import MirrorStore

extension Family {
  static let moving: [Family] = [
    Family("a hot set that drifts") { dice in
      (0..<2400).map { number in Access(time: number * 1000, key: number / 10 + dice.below(30)) }
    },
    Family("a hot set that drifts fast") { dice in
      (0..<3000).map { number in Access(time: number * 800, key: number + dice.below(60)) }
    },
    Family("on and off") { dice in
      let keys = keys(30, pages: 1, &dice)
      return (0..<6).flatMap { turn in
        let start = turn * 15 * minute
        return anyOf(keys, 400, over: start..<start + 7 * minute, &dice)
      }
    },
    Family("day and night") { dice in
      let keys = keys(40, pages: 1, &dice)
      return (0..<60).flatMap { hour in
        anyOf(keys, 1 + abs(12 - hour % 24) * 6, over: hour * minute..<(hour + 1) * minute, &dice)
      }
    },
    Family("a new directory every ten minutes") { dice in
      (0..<5).flatMap { part in
        let (first, start) = (part * 7 * Trace.page, part * 10 * minute)
        return anyOf(Array(first..<first + 40), 600, over: start..<start + 10 * minute, &dice)
      }
    },
  ]

  static let rhythms: [Family] = [
    Family("a walk each day") { dice in
      let keys = keys(60, pages: 1, &dice)
      return (0..<30).flatMap { walk(keys, at: $0 * 1440 * minute, pace: 50) }
    },
    Family("a walk of many pages each day") { dice in
      let keys = (0..<300).map { $0 * 33 }
      return (0..<20).flatMap { walk(keys, at: $0 * 1440 * minute, pace: 10) }
    },
    Family("bursts") { dice in
      (0..<60).flatMap { _ in
        let time = dice.below(200 * minute)
        return anyOf(Array(0..<100), 5 + dice.below(40), over: time..<time + 3000, &dice)
      }
    },
    Family("bursts of the same files") { dice in
      let keys = keys(25, pages: 1, &dice)
      return (0..<40).flatMap { _ in walk(keys, at: dice.below(200 * minute), pace: 30) }
    },
    beat("a period just above the lifetime", minute + 600),
    beat("a period just below the lifetime", minute - 600),
    beat("a third of the lifetime", minute / 3),
    beat("twice the lifetime", 2 * minute),
    beat("half as much again as the lifetime", 3 * minute / 2),
    Family("jobs of several periods") { dice in
      var accesses: [Access] = []
      for (first, count, period) in [(0, 20, 1), (300, 30, 5), (600, 60, 15)] {
        for turn in 0..<60 / period {
          accesses += walk(Array(first..<first + count), at: turn * period * minute + first * 20, pace: 40)
        }
      }
      return accesses
    },
  ]

  /// Each of some keys at its own place of a period.
  private static func beat(_ name: String, _ period: Int) -> Family {
    Family(name) { dice in
      keys(14 + dice.below(20), pages: 1, &dice).flatMap { key in
        let place = dice.below(period)
        return (0..<40).map { Access(time: place + $0 * period, key: key) }
      }
    }
  }

  static let adversaries: [Family] = [
    Family("half-blocks in turn, a lifetime each") { dice in
      halves(minute, &dice)
    },
    Family("half-blocks in turn, half a lifetime each") { dice in halves(minute / 2, &dice) },
    Family("late in one window and early in the next") { dice in
      (0..<320).map { number in
        let edge = number / 16 * 2 * minute + minute
        return Access(time: edge - 3000 + dice.below(6000), key: number % 16 + dice.below(3) * 20)
      }
    },
    Family("a burst, and one more when it is stale") { dice in
      (0..<40).flatMap { turn -> [Access] in
        let start = turn * 4 * minute
        return walk(Array(0..<14), at: start, pace: 10) + [Access(time: start + minute + 500, key: dice.below(14))]
      }
    },
    Family("thirteen and silence") { dice in
      (0..<60).flatMap { walk((0..<13).map { $0 + dice.below(900) }, at: $0 * 3 * minute, pace: 10) }
    },
    mean("asks until a page is bought, then waits", trust: 0),
    mean("wins trust, and breaks it", trust: 0.5),
    mean("wins much trust, and breaks it", trust: 0.9),
    Family("anything") { dice in anything(&dice) },
  ]

  private static func halves(_ turn: Int, _ dice: inout Dice) -> [Access] {
    (0..<40).flatMap { number in
      anyOf(
        (0..<20).map { $0 + number % 2 * 500 }, 40, over: number * turn..<number * turn + turn / 4, &dice)
    }
  }

  /// Asks for one new name after the other until a page is bought; then uses it, or not, and waits until it is stale.
  private static func mean(_ name: String, trust: Double) -> Family {
    Family(name) { dice in
      var replay = BlockReplay<ShippedPlan>(lifetime: minute, prices: Prices())
      var accesses: [Access] = []
      var (time, key) = (0, 0)
      func ask(_ key: Int) {
        accesses.append(Access(time: time, key: key % Trace.page))
        replay.access(accesses[accesses.count - 1])
      }
      for _ in 0..<60 {
        let pages = replay.bill.pages
        while replay.bill.pages == pages {
          ask(key)
          (time, key) = (time + 1, key + 1)
        }
        if dice.chance(trust) {
          for _ in 0..<14 {
            ask(key)
            key += 1
          }
        }
        time = replay.pageUntil + (dice.chance(0.5) ? 0 : dice.below(minute))
      }
      return accesses
    }
  }

  /// A few keys at random times, in changing moods: what nobody thought of.
  static func anything(_ dice: inout Dice) -> [Access] {
    var accesses: [Access] = []
    var time = 0
    let keys = 13 + dice.below(20)
    for _ in 0..<4 + dice.below(20) {
      let pace = 1 + dice.below([20, 500, 4000, 20_000][dice.below(4)])
      for _ in 0..<1 + dice.below(30) {
        accesses.append(Access(time: time, key: dice.below(keys)))
        time += dice.below(pace)
      }
      time += dice.below(2 * minute)
    }
    return accesses
  }
}
