// What the scripted server does wrong, to which requests, and how often.
import MirrorStore

/// One departure from what S3 would do. Byte positions count the body as sent, from 0.
public enum Fault: Sendable {
  /// Waits before the answer's head.
  case delay(Duration)
  /// Waits for `release()` before the head.
  case hang
  /// Waits for `release()` in the body.
  case hangAfter(Int64)
  /// Answers an S3 error; without a code the body is empty.
  case status(Int, code: String? = nil, retryAfter: String? = nil)
  /// Answers exactly this.
  case answer(Int, Fields = Fields(), [UInt8])
  /// Sends these bytes in place of an answer, and closes.
  case raw([UInt8])
  /// Closes the connection before the head.
  case close
  /// Resets the connection before the head.
  case reset
  /// Resets it in the body.
  case resetAfter(Int64)
  /// Announces the whole body and ends the connection orderly in its middle.
  case truncateAfter(Int64)
  /// Sends the body no faster, until `release()`.
  case throttle(bytesPerSecond: Int)
  /// Flips the bits of one byte of the body.
  case corrupt(at: Int64)
  /// The same, at another place each time.
  case corruptSomewhere
  /// Runs in the middle of the body, on the server's thread: to replace the object while it streams, say.
  case meanwhile(after: Int64, @Sendable () -> Void)
  /// Announces a body longer by so much (shorter: negative) than the one that is sent.
  case announce(longerBy: Int64)
  /// Replaces or adds a header field; nil takes it away.
  case field(String, String?)
  /// Keeps the status and fields, and sends this body.
  case body([UInt8])
  case ignoreRange
  /// Sends the part that was asked for, and calls it the whole: 200 instead of 206.
  case partsAsWhole
  case ignoreIfMatch
  case ignoreIfNoneMatch
  /// Sends the body in chunks, without its length.
  case chunked
  /// Sends a head of this status (1xx) before the answer's own.
  case interim(Int)
  /// Asks the client to close, and closes.
  case closeAfter

  /// A wrong position in a 206.
  public static func contentRange(_ text: String) -> Fault { .field("Content-Range", text) }
  public static func slowDown(retryAfter: String? = nil) -> Fault {
    .status(503, code: "SlowDown", retryAfter: retryAfter)
  }
  /// 200 with a page for people, as a captive portal sends.
  public static let html = Fault.answer(
    200, Fields([("Content-Type", "text/html")]), Array("<html><body>Please log in</body></html>".utf8))
}

/// Faults and the requests they meet.
struct FaultRule: Sendable {
  let faults: [Fault]
  let kinds: Set<S3RequestKind>
  let matches: @Sendable (RecordedRequest) -> Bool
  var skip: Int
  /// Nil: every time.
  var times: Int?

  /// Whether this request is met, counting it.
  mutating func meets(_ request: RecordedRequest) -> Bool {
    guard kinds.contains(request.kind), times != 0, matches(request) else { return false }
    if skip > 0 {
      skip -= 1
      return false
    }
    times = times.map { $0 - 1 }
    return true
  }
}
