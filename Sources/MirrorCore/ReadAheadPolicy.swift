// How far beyond a read to fetch: a few streams a file, each with a window that grows while it is read in order.

/// A pure value: reads in, wanted ranges out.
struct ReadAheadPolicy {
  static let streams = 4
  static let firstWindow: Int64 = 1 << 20
  static let largestWindow: Int64 = 64 << 20
  static let smallestPart: Int64 = 1 << 20
  /// Who has read less than this may be looking for what the file is: then little is fetched beyond.
  static let trial: Int64 = 8 << 20
  /// The kernel's own read-ahead sends the requests of one stream out of order by about so much.
  static let slack: Int64 = 2 << 20
  /// A second read so near the first makes a stream of them.
  static let nearness: Int64 = 128 << 10

  private struct Stream {
    var next: Int64
    var window: Int64
    /// What was read in order.
    var length: Int64 = 0

    func covers(_ offset: Int64) -> Bool {
      abs(offset - next) <= (window == 0 ? ReadAheadPolicy.nearness : ReadAheadPolicy.slack)
    }
  }
  private var streams: [Stream] = []

  /// The range worth having, given that `[offset, end)` is read now: at least that, at most a window more.
  mutating func wanted(_ offset: Int64, _ end: Int64, size: Int64, wholeBelow partSize: Int64) -> Range<Int64> {
    if size <= partSize { return 0..<size }
    guard let index = streams.firstIndex(where: { $0.covers(offset) }) else {
      // A read from the beginning is probably the first of many; any other is taken for what it is.
      remember(Stream(next: end, window: offset == 0 ? Self.firstWindow : 0))
      return offset..<min(size, end + (offset == 0 ? Self.firstWindow : 0))
    }
    var stream = streams.remove(at: index)
    if end > stream.next {
      let step = end - stream.next
      stream.length += step
      stream.window =
        stream.length <= Self.trial
        ? max(Self.firstWindow, stream.length / 4) : min(Self.largestWindow, stream.window + 2 * step)
      stream.next = end
    }
    streams.append(stream)
    return offset..<min(size, max(end, stream.next + stream.window))
  }

  private mutating func remember(_ stream: Stream) {
    if streams.count == Self.streams { streams.removeFirst() }
    streams.append(stream)
  }

  /// The length of one request out of so many wanted bytes: small at first, so that the first bytes come soon.
  static func part(of wanted: Int64, partSize: Int64) -> Int64 { min(partSize, max(smallestPart, wanted / 4)) }
}
