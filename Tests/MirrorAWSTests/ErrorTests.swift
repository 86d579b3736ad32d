// Refusals read into codes, as a table; and documents that are odd.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Testing

@testable import MirrorAWS

@Suite("Errors", .timeLimit(.minutes(1)))
struct ErrorTests {
  struct Row: Sendable, CustomStringConvertible {
    let status: Int
    var code: String?
    var fields: [(String, String)] = []
    var isHead = false
    var isBucket = false
    let expected: StoreError.Code
    var description: String { "\(isHead ? "HEAD " : "")\(isBucket ? "bucket " : "")\(status) \(code ?? "-")" }
  }

  static let rows: [Row] = [
    Row(status: 404, code: "NoSuchKey", expected: .notFound),
    Row(status: 404, code: "NoSuchBucket", expected: .noSuchBucket),
    Row(status: 404, expected: .notFound),
    Row(status: 404, isHead: true, expected: .notFound),
    Row(status: 404, isHead: true, isBucket: true, expected: .noSuchBucket),
    Row(status: 404, code: "NoSuchKey", isBucket: true, expected: .noSuchBucket),
    Row(status: 405, code: "MethodNotAllowed", fields: [("x-amz-delete-marker", "true")], expected: .notFound),
    Row(status: 405, code: "MethodNotAllowed", expected: .invalidRequest),
    Row(status: 403, code: "AccessDenied", expected: .accessDenied),
    Row(status: 403, isHead: true, expected: .accessDenied),
    Row(status: 403, code: "InvalidAccessKeyId", expected: .credentials),
    Row(status: 403, code: "SignatureDoesNotMatch", expected: .credentials),
    Row(status: 400, code: "ExpiredToken", expected: .credentials),
    Row(status: 403, code: "RequestTimeTooSkewed", expected: .clockSkew),
    Row(status: 403, code: "InvalidObjectState", expected: .archived),
    Row(status: 412, code: "PreconditionFailed", expected: .preconditionFailed),
    Row(status: 412, isHead: true, expected: .preconditionFailed),
    Row(status: 416, code: "InvalidRange", expected: .rangeNotSatisfiable),
    Row(status: 400, code: "KMS.DisabledException", expected: .accessDenied),
    Row(status: 400, code: "InvalidArgument", expected: .invalidRequest),
    Row(status: 400, code: "RequestTimeout", expected: .timeout),
    Row(status: 500, code: "InternalError", expected: .serverError),
    Row(status: 500, expected: .serverError),
    Row(status: 502, expected: .serverError),
    Row(status: 503, expected: .throttled),
    Row(status: 503, code: "SlowDown", expected: .throttled),
    Row(status: 429, expected: .throttled),
    Row(status: 400, code: "ThrottlingException", expected: .throttled),
    Row(status: 301, code: "PermanentRedirect", expected: .wrongRegion),
    Row(status: 501, code: "NotImplemented", expected: .invalidRequest),
    Row(status: 418, code: "Unheard", expected: .malformedResponse),
  ]

  private func refusal(_ row: Row) -> Refusal {
    let body = row.code.map { "<Error><Code>\($0)</Code><Message>m</Message><RequestId>R</RequestId></Error>" } ?? ""
    return Refusal(head: HTTPHead(status: row.status, fields: row.fields), body: Array(body.utf8))
  }

  private func question(_ row: Row) -> Question {
    Question(
      operation: "GetObject", subject: "b/k", kind: .get, method: row.isHead ? .head : .get,
      key: row.isBucket ? nil : ObjectKey("k"),
      headers: [HTTPField("If-Match", "\"t\""), HTTPField("Range", "bytes=0-9")])
  }

  @Test(arguments: [412, 416]) func `where no condition and no range was given, none has failed`(status: Int) {
    let row = Row(status: status, expected: .malformedResponse)
    var question = question(row)
    question.headers = []
    #expect(refusal(row).error(question, signed: nil, now: WallTime(seconds: 0)).code == row.expected)
  }

  @Test(arguments: rows) func `a refusal has its code`(row: Row) {
    let error = refusal(row).error(question(row), signed: nil, now: WallTime(seconds: 0))
    #expect(error.code == row.expected)
    #expect(error.status == row.status && error.reason == row.code ?? "")
    #expect(error.requestID == (row.code == nil ? nil : "R"))
  }

  @Test func `a HEAD refused with 400 means the token when there is one`() {
    let row = Row(status: 400, isHead: true, expected: .credentials)
    let temporary = Credentials(accessKeyID: "A", secretAccessKey: "s", sessionToken: "t")
    #expect(refusal(row).error(question(row), signed: temporary, now: WallTime(seconds: 0)).code == .credentials)
    #expect(refusal(row).error(question(row), signed: nil, now: WallTime(seconds: 0)).code == .invalidRequest)
  }

  @Test func `the time to wait comes in milliseconds, seconds or as a date`() {
    func wait(_ name: String, _ value: String) -> Duration? {
      Refusal(head: HTTPHead(status: 503, fields: [(name, value)]), body: [])
        .retryAfter(now: WallTime(seconds: 784_111_777))
    }
    #expect(wait("x-amz-retry-after", "1500") == .milliseconds(1500))
    #expect(wait("Retry-After", "3") == .seconds(3))
    #expect(wait("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT") == .seconds(10))
    #expect(wait("Retry-After", "Sun, 06 Nov 1994 08:49:00 GMT") == .zero)
    #expect(wait("Retry-After", "soon") == nil)
  }

  @Test func `a document that was cut gives what it has`() {
    let cut = ErrorDocument.parse(Array("<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Mess".utf8))
    #expect(cut?.code == "SlowDown")
    #expect(ErrorDocument.parse(Array("<Error><Co".utf8)) == nil)
    #expect(ErrorDocument.parse(Array("<html><Code>x</Code></html>".utf8)) == nil)
    #expect(ErrorDocument.parse([]) == nil)
  }

  @Test func `an outer element and a namespace do not hide the code`() {
    let text = "<ErrorResponse xmlns=\"http://x/\"><Error><Code>Throttling</Code></Error></ErrorResponse>"
    #expect(ErrorDocument.parse(Array(text.utf8))?.code == "Throttling")
  }
}
