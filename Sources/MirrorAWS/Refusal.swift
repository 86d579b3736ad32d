// An answer that is not the one hoped for, read into what may be done about it.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

struct Refusal {
  let head: HTTPHead
  let document: ErrorDocument?

  init(head: HTTPHead, body: [UInt8]) {
    self.head = head
    document = body.isEmpty ? nil : ErrorDocument.parse(body)
  }

  var code: String { document?.code ?? "" }

  /// The bucket's region, where the answer names it (header first: it comes with HEAD too).
  var region: String? {
    guard [301, 307, 400].contains(head.status) else { return nil }
    return head.text("x-amz-bucket-region") ?? document?.region
  }

  /// How long to wait: x-amz-retry-after in milliseconds, else Retry-After in seconds or as a date.
  func retryAfter(now: WallTime) -> Duration? {
    if let text = head.text("x-amz-retry-after"), let milliseconds = Int64(text), milliseconds >= 0 {
      return .milliseconds(min(milliseconds, 86_400_000))
    }
    guard let text = head.text("retry-after") else { return nil }
    if let seconds = Int64(text) { return seconds >= 0 ? .seconds(min(seconds, 86_400)) : nil }
    guard let date = Timestamp(httpDate: text) else { return nil }
    return max(.zero, WallTime(seconds: date.seconds) - now)
  }

  /// Server time minus ours.
  func clockGap(now: WallTime) -> Duration? {
    head.text("date").flatMap { Timestamp(httpDate: $0) }.map { WallTime(seconds: $0.seconds) - now }
  }

  func error(_ question: Question, signed: Credentials?, now: WallTime) -> StoreError {
    let meaning = meaning(question, signed: signed)
    return StoreError(
      meaning, operation: question.operation, subject: question.subject, status: head.status, reason: code,
      message: message(meaning), requestID: head.text("x-amz-request-id") ?? document?.requestID,
      retryAfter: retryAfter(now: now))
  }

  private func meaning(_ question: Question, signed: Credentials?) -> StoreError.Code {
    let deleted = head.text("x-amz-delete-marker") == "true"
    if deleted, head.status == 405 || head.status == 404 { return .notFound }
    if code == "InvalidRequest", document?.message.contains("Server Side Encryption") ?? false { return .accessDenied }
    let meaning = S3ErrorCode.meaning(code) ?? S3ErrorCode.meaning(status: head.status)
    if meaning == .notFound, question.isAboutBucket { return .noSuchBucket }
    // Where no condition and no range was given, none can fail.
    if meaning == .preconditionFailed, !question.asks("If-Match") { return .malformedResponse }
    if meaning == .rangeNotSatisfiable, !question.asks("Range") { return .malformedResponse }
    // A HEAD tells nothing but 400 of a token that ended.
    if question.method == .head, head.status == 400, signed?.sessionToken != nil { return .credentials }
    return meaning
  }

  private var isAboutKMS: Bool {
    code.hasPrefix("KMS.") || code == "AccessDenied" && document?.message.contains("kms:") ?? false
  }

  private func message(_ meaning: StoreError.Code) -> String {
    if meaning == .wrongRegion, let region { return "the bucket is in region \(region)" }
    if meaning == .archived {
      let name = document?.storageClass ?? head.text("x-amz-storage-class")
      return "the object is archived\(name.map { " (\($0))" } ?? ""): it must be restored before it can be read"
    }
    if let message = document?.message, !message.isEmpty {
      return isAboutKMS ? "the KMS key that the object is encrypted with can't be used: \(message)" : message
    }
    switch meaning {
    case .notFound: return "no such key"
    case .noSuchBucket: return "no such bucket"
    case .accessDenied: return "access denied"
    case .unreachable: return "the proxy refuses the connection"
    case .throttled: return "the server asks to slow down"
    default: return "the server answered \(head.status)"
    }
  }
}
