// What the price of a request depends on: its kind, what became of it, and the storage class of its object.

public enum RequestKind: String, CaseIterable, Sendable { case get, head, list, other }

/// What became of an attempt, as far as it matters for the bill.
public enum RequestOutcome: String, CaseIterable, Sendable {
  case success, notModified, absent, preconditionFailed, outOfRange, denied, refused
  case redirected, badRequest, serverError
  /// Sent, and no answer came.
  case unanswered

  /// From the status of the answer, 0 where none came.
  public init(status: Int) {
    self =
      switch status {
      case 0: .unanswered
      case 304: .notModified
      case 404: .absent
      case 412: .preconditionFailed
      case 416: .outOfRange
      case 401, 403: .denied
      case 400: .badRequest
      case 300..<400: .redirected
      case 400..<500: .refused
      case 500...: .serverError
      default: .success
      }
  }

  /// Whether S3 charges for it (S3 User Guide, Billing for Amazon S3 error responses). Where that depends on what can't
  /// be seen from here it counts: a 403 is free for strangers to the bucket's owner only, and a request whose answer
  /// did not arrive may have been served.
  public var isBilled: Bool {
    switch self {
    case .success, .notModified, .absent, .preconditionFailed, .outOfRange, .denied, .refused, .unanswered: true
    case .redirected, .badRequest, .serverError: false
    }
  }

  /// Neither an answer to the question nor a "no" that is one.
  public var isFailure: Bool {
    switch self {
    case .success, .notModified, .absent, .preconditionFailed, .redirected: false
    case .outOfRange, .denied, .refused, .badRequest, .serverError, .unanswered: true
    }
  }
}

/// The storage classes whose reads have prices of their own; all others are read at the price of S3 Standard.
public enum StorageClass: String, CaseIterable, Sendable {
  case standard = "STANDARD"
  case standardIA = "STANDARD_IA"
  case oneZoneIA = "ONEZONE_IA"
  case glacierIR = "GLACIER_IR"
  case expressOneZone = "EXPRESS_ONEZONE"

  /// From x-amz-storage-class or a listing; S3 Standard where it says nothing.
  public init(_ name: String?) { self = name.flatMap(StorageClass.init(rawValue:)) ?? .standard }
}

/// Requests that cost the same.
public struct RequestClass: Hashable, Sendable {
  public let kind: RequestKind
  public let outcome: RequestOutcome
  public let storageClass: StorageClass

  public init(_ kind: RequestKind, _ outcome: RequestOutcome, _ storageClass: StorageClass = .standard) {
    self.kind = kind
    self.outcome = outcome
    self.storageClass = storageClass
  }
}
