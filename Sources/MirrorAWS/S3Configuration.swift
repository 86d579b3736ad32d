// What a store is made of: a bucket, a place, an identity.

public struct S3Configuration: Sendable {
  /// A name, alias or access point ARN.
  public var bucket: String
  /// Nil: AWS.
  public var endpointURL: String?
  /// Nil: us-east-1 until the bucket says otherwise.
  public var region: String?
  /// Nil: by the rules of `Endpoint`.
  public var pathStyle: Bool?
  /// Sends x-amz-request-payer: the caller pays for what a bucket's owner would.
  public var requesterPays: Bool
  public var credentials: any CredentialProvider

  public init(
    bucket: String, endpointURL: String? = nil, region: String? = nil, pathStyle: Bool? = nil,
    requesterPays: Bool = false, credentials: any CredentialProvider
  ) {
    self.bucket = bucket
    self.endpointURL = endpointURL
    self.region = region
    self.pathStyle = pathStyle
    self.requesterPays = requesterPays
    self.credentials = credentials
  }

  func endpoint(region other: String? = nil) throws(EndpointError) -> Endpoint {
    try Endpoint(bucket: bucket, region: other ?? region ?? "", customURL: endpointURL, pathStyle: pathStyle)
  }
}
