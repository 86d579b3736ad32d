// How fast a mount's counters grow: between two looks, or since the mount.
import MirrorPlatform

struct MountRates {
  private let now: MountSample
  private let before: MountSample
  private let seconds: Double

  init(_ now: MountSample, before: MountSample?, _ wall: WallTime) {
    self.now = now
    self.before = before ?? MountSample()
    let span = before.map { (now.at - $0.at).secondsValue } ?? Double(wall.seconds - now.since)
    seconds = max(span, 0.001)
  }

  func perSecond(_ counter: KeyPath<MountSample, Int64>) -> Double {
    max(0, Double(now[keyPath: counter] - before[keyPath: counter])) / seconds
  }

  var requests: Double { perSecond(\.requestCount) }
  /// Bytes a second.
  var received: Double { perSecond(\.received) }
  /// USD a second.
  var cost: Double { max(0, now.costSinceMount - before.costSinceMount) / seconds }

  /// The share of uses that took no request; nil where nothing was used.
  var hits: Double? {
    let uses = now.uses - before.uses
    return uses > 0 ? max(0, min(1, Double(now.hits - before.hits) / Double(uses))) : nil
  }
}
