// The receiving end of one attempt: the body hoped for goes to its reader, any other is kept as an error document.
import MirrorHTTP
import MirrorPlatform

/// Takes the body of a 2xx answer; on the transfer thread.
protocol AnswerReader: AnyObject, Sendable {
  /// False ends the transfer.
  func begin(_ head: HTTPHead) -> Bool
  func receive(_ bytes: RawSpan) -> Bool
}

/// For answers without a body.
final class NoBody: AnswerReader {
  func begin(_ head: HTTPHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { true }
}

/// `@unchecked Sendable`: the transfer thread writes while `perform` runs, its caller reads after it returned.
final class Answer: HTTPResponseHandler, @unchecked Sendable {
  static let errorLimit = 64 << 10

  private let reader: any AnswerReader
  private(set) var received: HTTPHead?
  private(set) var errorBody: [UInt8] = []

  init(_ reader: any AnswerReader) { self.reader = reader }

  var isExpected: Bool { received.map { (200...299).contains($0.status) } ?? false }

  func head(_ head: HTTPHead) -> Bool {
    received = head
    return isExpected ? reader.begin(head) : true
  }

  func body(_ bytes: RawSpan) -> Bool {
    if isExpected { return reader.receive(bytes) }
    let room = Self.errorLimit - errorBody.count
    errorBody.append(contentsOf: bytes.extracting(..<min(room, bytes.byteCount)))
    return errorBody.count < Self.errorLimit
  }
}
