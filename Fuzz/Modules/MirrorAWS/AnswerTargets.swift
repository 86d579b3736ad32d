// What heads say of objects, and what errors say of refusals.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

private let wall = WallTime(seconds: 1_700_000_000)

private final class Sink: ObjectSink, @unchecked Sendable {
  func begin(_ head: ObjectHead) -> Bool {
    promise(head.start >= 0 && head.start <= head.end && head.end <= head.revision.size, "bytes lie in their object")
    return true
  }
  func receive(_ bytes: RawSpan) -> Bool { true }
}

public func fuzzHeaders(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let kind = input.byte()
  for head in fuzzHeads(input.rest()) {
    let metadata = ObjectMetadata(head, size: head.contentLength ?? 0, isPart: kind & 1 == 1)
    if let tag = metadata.revision.etag {
      promise(EntityTag(tag.bytes) == tag, "a tag is as it is spelled")
      promise(EntityTag(tag.bytes).fingerprint == tag.fingerprint, "and so is its hash")
      promise(tag.bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a tag can be sent back")
    }
    if let seconds = metadata.revision.modified, Timestamp(seconds: seconds).year <= 9999 {
      let text = Timestamp(seconds: seconds).httpDate
      promise(Timestamp(httpDate: text)?.seconds == seconds, "a date comes back as it was")
    }
    if let posix = metadata.posix {
      promise(PosixMetadata(text: posix.text) == posix, "what metadata say comes back")
      promise(!posix.isEmpty && posix.permissions.map { $0 <= 0o777 } ?? true, "permissions are no more than that")
      promise(posix.modified.map { (0..<1_000_000_000).contains($0.nanoseconds) } ?? true, "a second's nanoseconds")
    }
    if let range = head.text("content-range").flatMap({ ContentRange($0) }) {
      promise(range.start >= 0 && range.start < range.end && range.end <= range.size, "a range lies in its object")
    }
    // A GET for all of it, and for a part.
    let asked: ByteRange? = kind & 2 == 0 ? nil : ByteRange(Int64(kind >> 4), kind & 4 == 0 ? nil : 1 << 20)
    let condition: Condition = kind & 8 == 0 ? .none : .ifNoneMatch(EntityTag("\"a\""))
    let reader = ObjectReader(GetRequest(key: ObjectKey("k"), range: asked, condition: condition), Sink())
    guard (200...299).contains(head.status), reader.begin(head) else { continue }
    if case .body = reader.verdict, let object = reader.head {
      promise(asked == nil || object.start == asked?.start || object.isWhole, "what was asked for, or all of it")
      let body: [UInt8] = [1, 2, 3]
      let went = reader.receive(body.span.bytes)
      promise(went == (3 <= object.end - object.start), "no more bytes than were announced")
      if let checksum = reader.checksum {
        promise(checksum.finish().value.count == checksum.expected.count, "a digest is as long as what is expected")
      }
    }
  }
}

public func fuzzErrors(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let status = [400, 403, 404, 405, 409, 412, 416, 301, 307, 429, 500, 503][Int(input.byte()) % 12]
  let seed = input.byte()
  let dates = input.part(upTo: 0x0A)
  let body = input.rest()
  let text = String(decoding: dates, as: UTF8.self)
  let head = HTTPHead(status: status, fields: [("Date", text), ("Retry-After", text), ("x-amz-retry-after", text)])
  let answer = Answer(NoBody())
  promise(answer.head(head), "an error is read to its end")
  for piece in FuzzInput.pieces(body, seed: seed) where !answer.body(piece.span.bytes) { break }
  promise(answer.errorBody == body, "pieces come together")
  let refusal = Refusal(head: head, body: answer.errorBody)
  promise(refusal.document == (body.isEmpty ? nil : ErrorDocument.parse(body)), "an error reads the same again")
  let wait = refusal.retryAfter(now: wall)
  promise(wait.map { $0 >= .zero } ?? true, "no wait is negative")
  _ = refusal.clockGap(now: wall)
  let question = Question(operation: "GetObject", subject: "b/k", kind: .get, key: ObjectKey("k"))
  let keys = Credentials(accessKeyID: "i", secretAccessKey: "s", sessionToken: seed & 1 == 0 ? nil : "t")
  let error = refusal.error(question, signed: keys, now: wall)
  promise(error.status == status && !error.message.isEmpty, "an error is told in words")
  if let document = refusal.document {
    promise(document.code.utf8.count <= 3 * 1024 && !document.code.isEmpty, "what a server says is bounded")
  }
}
