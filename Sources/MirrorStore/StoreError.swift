// Why a request failed, in terms of what may be done about it.

/// A failed request: a code to switch on, and what a person needs to know.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// Definite answers.
    case notFound, noSuchBucket, accessDenied, archived, preconditionFailed, rangeNotSatisfiable, invalidRequest
    /// Asked for its past, of a bucket that keeps no versions.
    case unversioned
    /// The origin did not do its part.
    case unreachable, tls, timeout, throttled, serverError, malformedResponse, interrupted, checksumMismatch
    /// No identity, or one that is refused (expired, unknown, badly signed, clock off).
    case credentials, clockSkew
    /// The bucket lives in another region or behind another endpoint.
    case wrongRegion
    /// Not sent: it would break a budget.
    case overBudget
    /// Nobody waits for the answer any more.
    case cancelled
  }

  public let code: Code
  /// `GetObject`, `ListObjectsV2`, …
  public let operation: String
  /// Bucket or bucket/key.
  public let subject: String
  /// HTTP status; 0 without an answer.
  public let status: Int
  /// The `<Code>` of the error body, or the transport's own word.
  public let reason: String
  /// What happened, without secrets.
  public let message: String
  public let requestID: String?
  /// How long the server asks to wait.
  public let retryAfter: Duration?

  public init(
    _ code: Code, operation: String, subject: String, status: Int = 0, reason: String = "", message: String,
    requestID: String? = nil, retryAfter: Duration? = nil
  ) {
    self.code = code
    self.operation = operation
    self.subject = subject
    self.status = status
    self.reason = reason
    self.message = message
    self.requestID = requestID
    self.retryAfter = retryAfter
  }

  public var description: String {
    var text = "\(operation) \(subject): \(message)"
    if status != 0 { text += " (HTTP \(status)\(reason.isEmpty ? "" : " \(reason)"))" }
    if let requestID { text += " [request \(requestID)]" }
    return text
  }

  /// The origin can't be asked now: what is cached may be served stale (RFC 5861 §4).
  public var isOriginFailure: Bool {
    switch code {
    case .unreachable, .tls, .timeout, .throttled, .serverError, .malformedResponse, .interrupted, .checksumMismatch,
      .credentials, .clockSkew, .wrongRegion, .noSuchBucket, .overBudget:
      true
    case .notFound, .accessDenied, .archived, .preconditionFailed, .rangeNotSatisfiable, .invalidRequest, .cancelled,
      .unversioned:
      false
    }
  }

  /// Whether something older may be shown in place of this: the origin can't be asked, or answers what makes no sense.
  public var isNoAnswer: Bool { isOriginFailure || code == .invalidRequest }

  /// No connection came about: the next request to the same place would fail alike.
  public var isConnectionFailure: Bool { code == .unreachable || code == .tls || code == .credentials }

  /// Another attempt may succeed.
  public var isRetryable: Bool {
    switch code {
    case .unreachable, .timeout, .throttled, .serverError, .malformedResponse, .interrupted: true
    default: false
    }
  }
}
