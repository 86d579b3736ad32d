// What a store is made of: a bucket, a place, an identity.

public struct S3Configuration: Sendable {
  /// A name, alias or access point ARN.
  public var bucket: String
  /// Nil: AWS.
  public var endpointURL: String?
  /// Nil: us-east-1 until the bucket says otherwise.
  public var region: String?
  public var options: EndpointOptions
  /// Sends x-amz-request-payer: the caller pays for what a bucket's owner would.
  public var requesterPays: Bool
  /// The account that must own the bucket: AWS refuses every request where another does.
  public var expectedOwner: String?
  /// For objects encrypted with keys of the user's own (SSE-C); sent over TLS only, and only where one is needed.
  public var customerKeys: [CustomerKey] = []
  public var credentials: any CredentialProvider
  /// A directory bucket is asked by sessions; false: each request is signed by the credentials themselves.
  public var usesSessions = true

  public init(
    bucket: String, endpointURL: String? = nil, region: String? = nil, options: EndpointOptions = EndpointOptions(),
    requesterPays: Bool = false, expectedOwner: String? = nil, credentials: any CredentialProvider
  ) {
    self.bucket = bucket
    self.endpointURL = endpointURL
    self.region = region
    self.options = options
    self.requesterPays = requesterPays
    self.expectedOwner = expectedOwner
    self.credentials = credentials
  }

  func endpoint(region other: String? = nil) throws(EndpointError) -> Endpoint {
    try Endpoint(bucket: bucket, region: other ?? region ?? "", customURL: endpointURL, options: options)
  }
}
