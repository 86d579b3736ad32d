// Which of AWS's ways to a bucket are taken, and which of them go together (S3 User Guide, endpoints).

public struct EndpointOptions: Hashable, Sendable {
  /// Nil decides by the rules: the host name, but the path at a custom endpoint and for names that no host can have.
  public var pathStyle: Bool?
  /// IPv6 beside IPv4.
  public var dualStack: Bool
  public var fips: Bool
  /// By the nearest edge of Amazon's network.
  public var accelerate: Bool
  /// An access point is asked in its own region, whatever the client's.
  public var followsARN: Bool

  public init(
    pathStyle: Bool? = nil, dualStack: Bool = false, fips: Bool = false, accelerate: Bool = false,
    followsARN: Bool = true
  ) {
    self.pathStyle = pathStyle
    self.dualStack = dualStack
    self.fips = fips
    self.accelerate = accelerate
    self.followsARN = followsARN
  }

  /// The host that buckets' names go before.
  func service(region: String, domain: String) -> String {
    let stack = dualStack ? ".dualstack" : ""
    if accelerate { return "s3-accelerate\(stack).\(domain)" }
    let name = "s3\(fips ? "-fips" : "")\(stack)"
    return region == "aws-global" ? "\(name).\(domain)" : "\(name).\(region).\(domain)"
  }

  func check(region: String, asPath: Bool) throws(EndpointError) {
    if fips, region.hasPrefix("cn-") { throw EndpointError("there are no FIPS endpoints in \(region)") }
    guard accelerate else { return }
    if asPath { throw EndpointError("transfer acceleration needs a bucket whose name can be a host's, without dots") }
    if fips { throw EndpointError("transfer acceleration and FIPS don't go together") }
    if region.hasPrefix("cn-") { throw EndpointError("there is no transfer acceleration in \(region)") }
  }

  func checkCustom() throws(EndpointError) {
    for (isOn, name) in [(dualStack, "dual-stack"), (fips, "FIPS"), (accelerate, "accelerated")] where isOn {
      throw EndpointError("\(name) endpoints are AWS's own: the settings ask for them and for an endpoint URL")
    }
  }
}

/// `arn:PARTITION:s3:REGION:ACCOUNT:accesspoint/NAME` (or `:NAME`).
struct AccessPoint {
  let arn: String
  let partition: String
  /// NAME-ACCOUNT: what its host begins with.
  let label: String
  let region: String

  init(arn: String) throws(EndpointError) {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
    let resource = parts.last?.split(whereSeparator: { $0 == "/" || $0 == ":" }).map(String.init) ?? []
    if parts.count == 6, parts[3].isEmpty, parts[5].hasSuffix(".mrap") {
      throw EndpointError("\(arn) has many regions (SigV4A), which is not supported: name one region's access point")
    }
    guard parts.count == 6, parts[2] == "s3", Endpoint.isLabel(parts[3], allowingDots: false), resource.count == 2,
      resource[0] == "accesspoint", Endpoint.isLabel("\(resource[1])-\(parts[4])", allowingDots: false)
    else { throw EndpointError("\(arn) is not an access point that can be mounted") }
    self.arn = arn
    partition = parts[1]
    label = "\(resource[1])-\(parts[4])"
    region = parts[3]
  }

  /// `region` is the client's, empty where none is set.
  func check(region client: String, _ options: EndpointOptions) throws(EndpointError) {
    if options.accelerate { throw EndpointError("transfer acceleration and access points don't go together") }
    if options.pathStyle == true { throw EndpointError("an access point can't be asked in path style") }
    if options.fips, region.hasPrefix("cn-") { throw EndpointError("there are no FIPS endpoints in \(region)") }
    guard partition == Self.partition(of: region) else {
      throw EndpointError("\(arn): \(region) is not in the partition \(partition)")
    }
    if !options.followsARN, !client.isEmpty, client != region {
      throw EndpointError("\(arn) is in another region than \(client), and use_arn_region is false")
    }
  }

  private static func partition(of region: String) -> String {
    let partitions = [
      ("cn-", "aws-cn"), ("us-gov-", "aws-us-gov"), ("eusc-", "aws-eusc"), ("us-isob-", "aws-iso-b"),
      ("us-isof-", "aws-iso-f"), ("us-iso-", "aws-iso"), ("eu-isoe-", "aws-iso-e"),
    ]
    return partitions.first { region.hasPrefix($0.0) }?.1 ?? "aws"
  }
}
