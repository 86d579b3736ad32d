// Which errno a program sees for a failed request (s3mirror(7), ERRORS).
import MirrorPlatform
import MirrorStore

extension StoreError {
  var errno: Errno {
    switch code {
    case .notFound: .noEntry
    case .accessDenied, .archived, .credentials, .clockSkew: .accessDenied
    case .preconditionFailed: .stale
    case .noSuchBucket, .rangeNotSatisfiable, .invalidRequest, .unreachable, .tls, .timeout, .throttled, .serverError,
      .malformedResponse, .interrupted, .checksumMismatch, .wrongRegion, .overBudget, .cancelled, .unversioned:
      .inputOutput
    }
  }
}
