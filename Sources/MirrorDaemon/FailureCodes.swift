// Which exit code a failure of the layers below has, and what a person can do about it.
public import MirrorCache
import MirrorFUSE
import MirrorPlatform
import MirrorStore

extension CommandFailure {
  init(_ error: MountError) {
    switch error.code {
    case .notMounted: self.init(.notMounted, error.description)
    case .busy: self.init(.failure, error.description)
    default: self.init(.mountPointUnusable, error.description)
    }
  }

  /// 7, and 9 for damage.
  public init(_ error: CacheError) {
    let advice =
      switch error.code {
      case .locked: "unmount it there, or choose another --cache-dir"
      case .noSpace: "free some space, or choose another --cache-dir"
      case .newerVersion: "use that release, or choose another --cache-dir"
      case .damaged: "it can be deleted; everything in it can be fetched again"
      case .unusable: "choose another --cache-dir"
      }
    self.init(error.code == .damaged ? .damaged : .cacheUnusable, "cache directory \(error.description); \(advice)")
  }

  /// A mount that could not begin.
  init(_ error: StoreError, source: String) {
    let (code, advice) = Self.verdict(on: error)
    self.init(code, "can't mount \(source): \(error.description); \(advice)")
  }

  /// The exit code of a failed request, and what to do about it.
  static func verdict(on error: StoreError) -> (ExitCode, String) {
    switch error.code {
    case .noSuchBucket: (.noSuchBucket, "check its name, and --endpoint-url if it is not at AWS")
    case .credentials:
      (.denied, "check the credentials and --profile, or use --no-sign-request for a public bucket")
    case .clockSkew: (.denied, "set this machine's clock")
    case .accessDenied, .archived:
      (
        .denied,
        "these credentials need s3:ListBucket and s3:GetObject here; where they are for a part of it, mount BUCKET/PREFIX; where the owner does not pay, --requester-pays"
      )
    case .wrongRegion: (.unreachable, "give the bucket's --region")
    case .unreachable, .timeout:
      (.unreachable, "check the network\(Self.proxies) and --endpoint-url")
    case .tls: (.unreachable, "check the certificate (--ca-bundle), or http:// in --endpoint-url")
    case .throttled, .serverError, .malformedResponse, .interrupted, .checksumMismatch:
      (.unreachable, "the server does not do its part; try again later")
    case .unversioned:
      (.failure, "mount it without --at; versioning, once switched on, keeps what is replaced from then on")
    case .overBudget: (.failure, "wait, or give a larger --budget")
    case .notFound, .preconditionFailed, .rangeNotSatisfiable, .invalidRequest, .cancelled:
      (.failure, "the server can't answer as S3 does; check --endpoint-url")
    }
  }

  /// The proxies that the environment names, without what is secret in their URLs.
  private static var proxies: String {
    let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
    let found = names.compactMap { name in
      ThisProcess.environment(name).map { url in "\(name)=\(url.split(separator: "@").last ?? "")" }
    }
    return found.isEmpty ? "" : ", the proxy (\(found.joined(separator: ", ")))"
  }
}
