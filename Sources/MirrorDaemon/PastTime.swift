// How a time in the past is written: a day, a moment, or how long ago.
import MirrorPlatform

extension WallTime {
  /// `2026-11-30` (the beginning of that day, UTC), RFC 3339, or `3d ago` (to the minute, so that mounts of the same
  /// minute share a cache); nil for anything else.
  init?(parsing text: String, now: WallTime) {
    if text.hasSuffix(" ago") {
      guard let age = parseDuration(String(text.dropLast(4))), age > .zero, age < .seconds(1 << 32) else { return nil }
      let seconds = now.seconds - age.nanosecondsClamped / 1_000_000_000
      self.init(seconds: seconds - (seconds % 60 + 60) % 60)
      return
    }
    let moment = text.utf8.count == 10 ? text + "T00:00:00Z" : text
    guard moment.utf8.count >= 20, let time = Timestamp(rfc3339: moment) else { return nil }
    self.init(seconds: time.seconds)
  }
}
