// What S3's error codes and statuses mean for us: one table.
import MirrorStore

enum S3ErrorCode {
  /// The meaning of a `<Code>`; nil for one that says nothing beyond its status.
  static func meaning(_ code: String) -> StoreError.Code? {
    switch code {
    case "NoSuchKey", "NoSuchVersion": .notFound
    case "NoSuchBucket": .noSuchBucket
    case "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidPayer", "NotSignedUp", "InvalidAccessPoint":
      .accessDenied
    case "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired", "ExpiredToken", "ExpiredTokenException",
      "SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSecurity", "AuthFailure", "InvalidClientTokenId",
      "UnrecognizedClientException":
      .credentials
    case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture": .clockSkew
    case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "Redirect",
      "IllegalLocationConstraintException":
      .wrongRegion
    case "InvalidObjectState": .archived
    case "PreconditionFailed": .preconditionFailed
    case "InvalidRange": .rangeNotSatisfiable
    case "KeyTooLongError", "InvalidArgument", "InvalidURI", "InvalidBucketName", "NotImplemented":
      .invalidRequest
    case "RequestTimeout", "RequestTimeoutException": .timeout
    case "InternalError", "InternalErrors", "OperationAborted", "PriorRequestNotComplete": .serverError
    case "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "RequestLimitExceeded",
      "BandwidthLimitExceeded", "TooManyRequests", "TooManyRequestsException", "LimitExceededException",
      "ProvisionedThroughputExceededException", "RequestThrottled", "RequestThrottledException",
      "EC2ThrottledException":
      .throttled
    case _ where code.hasPrefix("Throttl"): .throttled
    case _ where code.hasPrefix("KMS."): .accessDenied
    default: nil
    }
  }

  /// The meaning of a status without a code that says more.
  static func meaning(status: Int) -> StoreError.Code {
    switch status {
    case 301, 302, 303, 307, 308: .wrongRegion
    case 400, 405, 411, 414, 431, 501: .invalidRequest
    case 401, 402, 403: .accessDenied
    case 404, 410: .notFound
    case 407: .unreachable
    case 408: .timeout
    case 412: .preconditionFailed
    case 416: .rangeNotSatisfiable
    case 429, 503: .throttled
    case 409, 499, 500...: .serverError
    default: .malformedResponse
    }
  }

  /// Codes after which keys that were renewed meanwhile may be accepted.
  static func mayBeOldKeys(_ code: String) -> Bool { meaning(code) == .credentials }

  /// Codes that a clock can cause; the first three leave no doubt.
  static func mayBeClock(_ code: String) -> Bool {
    meaning(code) == .clockSkew || code == "SignatureDoesNotMatch" || code == "InvalidSignatureException"
      || code == "AuthFailure"
  }
}
