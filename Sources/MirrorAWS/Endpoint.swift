// Where a bucket answers: scheme, host and base path out of bucket, region and options (S3 User Guide, endpoints).
import MirrorPlatform

/// An endpoint could not be made of what was given.
public struct EndpointError: Error, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// The place of one bucket.
public struct Endpoint: Hashable, Sendable {
  public let address: HostAddress
  /// Percent-encoded, no trailing slash: `""`, `/base`, `/bucket`, `/base/bucket`.
  public let path: String
  /// The region that signatures name.
  public let signingRegion: String
  /// Under this name hosts may be redirected to: amazonaws.com or the endpoint's own host.
  public let domain: String
  public let isCustom: Bool
  /// Of S3 Express: signed for that service, listed in no order.
  public let isDirectory: Bool

  /// The service that signatures name.
  var service: String { isDirectory ? "s3express" : "s3" }

  /// The Host header.
  public var host: String { address.hostHeader }

  /// `customURL` comes from the user (`http[s]://host[:port][/base]`).
  public init(
    bucket: String, region: String, customURL: String? = nil, options: EndpointOptions = EndpointOptions()
  ) throws(EndpointError) {
    guard !bucket.isEmpty else { throw EndpointError("no bucket was named") }
    let isARN = bucket.hasPrefix("arn:")
    let directory = DirectoryBucket(bucket)
    isDirectory = directory != nil
    if directory == nil, bucket.hasSuffix("--x-s3") || bucket.hasSuffix("--xa-s3") {
      throw EndpointError("\(bucket) names no zone: a directory bucket is called NAME--ZONE--x-s3")
    }
    if let customURL {
      guard !isARN else { throw EndpointError("an access point ARN can't go with an endpoint URL") }
      try options.checkCustom()
      let (address, base) = try HostAddress.parse(url: customURL)
      let asPath =
        options.pathStyle ?? true || address.isLiteral || address.isLoopback
        || !Self.isLabel(bucket, allowingDots: address.scheme == "http")
      self.address = asPath ? address : address.prefixed(bucket)
      path = base + (asPath ? "/" + percentEncoded(bucket.utf8, keepingSlash: false) : "")
      signingRegion = directory?.region ?? (region.isEmpty ? "us-east-1" : region)
      domain = address.host
      isCustom = true
      return
    }

    isCustom = false
    if isARN {
      let point = try AccessPoint(arn: bucket)
      try point.check(region: region, options)
      domain = Self.suffix(region: point.region)
      let service = "s3-accesspoint\(options.fips ? "-fips" : "")\(options.dualStack ? ".dualstack" : "")"
      address = HostAddress(scheme: "https", host: "\(point.label).\(service).\(point.region).\(domain)", port: nil)
      path = ""
      signingRegion = point.region
      return
    }
    // That of a directory bucket is in its name, whatever region the client is in.
    let region = directory?.region ?? (region.isEmpty ? "us-east-1" : region)
    guard Self.isLabel(region, allowingDots: false) else { throw EndpointError("\(region) is no region") }
    domain = Self.suffix(region: region)
    if let directory {
      try directory.check(bucket, options)
      address = HostAddress(
        scheme: "https", host: "\(bucket).\(directory.service(options)).\(region).\(domain)", port: nil)
      path = ""
      signingRegion = region
      return
    }
    // A wildcard certificate covers one label, so a dotted bucket must go into the path.
    let asPath = options.pathStyle ?? false || !Self.isLabel(bucket, allowingDots: false)
    try options.check(region: region, asPath: asPath)
    let service = options.service(region: region, domain: domain)
    address = HostAddress(scheme: "https", host: asPath ? service : "\(bucket).\(service)", port: nil)
    path = asPath ? "/" + percentEncoded(bucket.utf8, keepingSlash: false) : ""
    signingRegion = region == "aws-global" ? "us-east-1" : region
  }

  /// DNS suffix of the partition that a region belongs to.
  static func suffix(region: String) -> String {
    let partitions = [
      ("cn-", "amazonaws.com.cn"), ("eusc-", "amazonaws.eu"), ("us-isob-", "sc2s.sgov.gov"),
      ("us-isof-", "csp.hci.ic.gov"), ("us-iso-", "c2s.ic.gov"), ("eu-isoe-", "cloud.adc-e.uk"),
    ]
    return partitions.first { region.hasPrefix($0.0) }?.1 ?? "amazonaws.com"
  }

  /// A name that may stand before a host: lower case, digits, hyphens, 3 to 63 long.
  static func isLabel(_ name: String, allowingDots: Bool) -> Bool {
    let isAlphanumeric = { (byte: UInt8) in (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
    return (3...63).contains(name.utf8.count)
      && name.utf8.allSatisfy { isAlphanumeric($0) || $0 == 0x2D || (allowingDots && $0 == 0x2E) }
      && name.utf8.first.map(isAlphanumeric) ?? false && name.utf8.last.map(isAlphanumeric) ?? false
  }

  /// A host that credentials may be sent to: the domain itself or a name in it.
  func mayRedirect(to other: HostAddress) -> Bool {
    guard other.scheme == address.scheme || other.scheme == "https" else { return false }
    return other.host == domain || other.host.hasSuffix("." + domain)
  }
}
