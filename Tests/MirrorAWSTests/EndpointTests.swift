// Where a bucket answers, as a table.
import Testing

@testable import MirrorAWS

@Suite("Endpoints", .timeLimit(.minutes(1)))
struct EndpointTests {
  struct Row: Sendable, CustomStringConvertible {
    let bucket: String
    let region: String
    var url: String?
    var pathStyle: Bool?
    var options = EndpointOptions()
    let expected: String
    let signing: String
    var description: String { "\(bucket) \(region) \(url ?? "") \(pathStyle.map { "\($0)" } ?? "")" }
  }

  static let rows: [Row] = [
    Row(
      bucket: "bucket", region: "us-west-2", expected: "https://bucket.s3.us-west-2.amazonaws.com", signing: "us-west-2"
    ),
    Row(bucket: "bucket", region: "", expected: "https://bucket.s3.us-east-1.amazonaws.com", signing: "us-east-1"),
    Row(
      bucket: "a.b.c", region: "eu-west-1", expected: "https://s3.eu-west-1.amazonaws.com/a.b.c", signing: "eu-west-1"),
    Row(
      bucket: "My_Bucket", region: "us-east-1", expected: "https://s3.us-east-1.amazonaws.com/My_Bucket",
      signing: "us-east-1"),
    Row(
      bucket: "bucket", region: "us-east-1", pathStyle: true, expected: "https://s3.us-east-1.amazonaws.com/bucket",
      signing: "us-east-1"),
    Row(
      bucket: "bucket", region: "cn-north-1", expected: "https://bucket.s3.cn-north-1.amazonaws.com.cn",
      signing: "cn-north-1"),
    Row(
      bucket: "bucket", region: "eusc-de-east-1", expected: "https://bucket.s3.eusc-de-east-1.amazonaws.eu",
      signing: "eusc-de-east-1"),
    Row(
      bucket: "bucket", region: "us-gov-west-1", expected: "https://bucket.s3.us-gov-west-1.amazonaws.com",
      signing: "us-gov-west-1"),
    Row(bucket: "bucket", region: "aws-global", expected: "https://bucket.s3.amazonaws.com", signing: "us-east-1"),
    Row(
      bucket: "arn:aws:s3:eu-west-1:123456789012:accesspoint/myap", region: "us-east-1",
      expected: "https://myap-123456789012.s3-accesspoint.eu-west-1.amazonaws.com", signing: "eu-west-1"),
    // The zone in its name says where it is, whatever region the client is in.
    Row(
      bucket: "b--usw2-az1--x-s3", region: "",
      expected: "https://b--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com",
      signing: "us-west-2"),
    Row(
      bucket: "b--apne1-az4--xa-s3", region: "us-east-1", options: EndpointOptions(dualStack: true, fips: true),
      expected: "https://b--apne1-az4--xa-s3.s3express-fips-apne1-az4.dualstack.ap-northeast-1.amazonaws.com",
      signing: "ap-northeast-1"),
    Row(
      bucket: "a--b--lab1-x--x-s3", region: "eu-north-1",
      expected: "https://a--b--lab1-x--x-s3.s3express-lab1-x.eu-north-1.amazonaws.com", signing: "eu-north-1"),
    Row(
      bucket: "bucket", region: "", url: "http://127.0.0.1:9000", expected: "http://127.0.0.1:9000/bucket",
      signing: "us-east-1"),
    Row(
      bucket: "bucket", region: "garage", url: "https://S3.Example.com:443/base/", pathStyle: nil,
      expected: "https://s3.example.com/base/bucket", signing: "garage"),
    Row(
      bucket: "bucket", region: "r", url: "https://s3.example.com/base", pathStyle: false,
      expected: "https://bucket.s3.example.com/base", signing: "r"),
    Row(
      bucket: "bucket", region: "r", url: "http://127.0.0.1:9000", pathStyle: false,
      expected: "http://127.0.0.1:9000/bucket", signing: "r"),
    Row(
      bucket: "bucket", region: "r", url: "http://localhost:9000", pathStyle: false,
      expected: "http://localhost:9000/bucket", signing: "r"),
    Row(bucket: "bucket", region: "r", url: "http://[::1]:80/", expected: "http://[::1]/bucket", signing: "r"),
    Row(
      bucket: "bucket", region: "r", url: "http://[fd00::2]:8080", expected: "http://[fd00::2]:8080/bucket",
      signing: "r"),
    Row(
      bucket: "a.b.c", region: "r", url: "https://s3.example.com", pathStyle: false,
      expected: "https://s3.example.com/a.b.c", signing: "r"),
    Row(
      bucket: "a.b.c", region: "r", url: "http://s3.example.com", pathStyle: false,
      expected: "http://a.b.c.s3.example.com", signing: "r"),
    Row(
      bucket: "bucket", region: "us-west-2", options: EndpointOptions(dualStack: true),
      expected: "https://bucket.s3.dualstack.us-west-2.amazonaws.com", signing: "us-west-2"),
    Row(
      bucket: "bucket", region: "us-gov-west-1", options: EndpointOptions(fips: true),
      expected: "https://bucket.s3-fips.us-gov-west-1.amazonaws.com", signing: "us-gov-west-1"),
    Row(
      bucket: "a.b.c", region: "us-east-2", options: EndpointOptions(dualStack: true, fips: true),
      expected: "https://s3-fips.dualstack.us-east-2.amazonaws.com/a.b.c", signing: "us-east-2"),
    Row(
      bucket: "bucket", region: "us-west-2", options: EndpointOptions(accelerate: true),
      expected: "https://bucket.s3-accelerate.amazonaws.com", signing: "us-west-2"),
    Row(
      bucket: "bucket", region: "us-west-2", options: EndpointOptions(dualStack: true, accelerate: true),
      expected: "https://bucket.s3-accelerate.dualstack.amazonaws.com", signing: "us-west-2"),
    Row(
      bucket: "bucket", region: "us-iso-east-1", expected: "https://bucket.s3.us-iso-east-1.c2s.ic.gov",
      signing: "us-iso-east-1"),
    Row(
      bucket: "arn:aws:s3:us-west-2:123456789012:accesspoint:myap", region: "us-west-2",
      options: EndpointOptions(dualStack: true, fips: true),
      expected: "https://myap-123456789012.s3-accesspoint-fips.dualstack.us-west-2.amazonaws.com", signing: "us-west-2"),
    Row(
      bucket: "arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/myap", region: "",
      expected: "https://myap-123456789012.s3-accesspoint.cn-north-1.amazonaws.com.cn", signing: "cn-north-1"),
    Row(
      bucket: "myap-abcdefgh12345-s3alias", region: "eu-west-1",
      expected: "https://myap-abcdefgh12345-s3alias.s3.eu-west-1.amazonaws.com", signing: "eu-west-1"),
    Row(bucket: "odd b", region: "r", url: "http://h:8080", expected: "http://h:8080/odd%20b", signing: "r"),
  ]

  // A056, A057, A060
  @Test(arguments: rows) func `a bucket has the expected place`(row: Row) throws {
    var options = row.options
    if let pathStyle = row.pathStyle { options.pathStyle = pathStyle }
    let endpoint = try Endpoint(bucket: row.bucket, region: row.region, customURL: row.url, options: options)
    #expect(endpoint.address.url + endpoint.path == row.expected)
    #expect(endpoint.signingRegion == row.signing)
  }

  @Test(arguments: [
    "ftp://host", "host:9000", "http://", "http://u:p@host", "http://host:0", "http://host:99999", "http://ho st",
    "http://[::1", "/bucket",
  ])
  func `a URL that is none is refused`(url: String) {
    #expect(throws: EndpointError.self) { try Endpoint(bucket: "bucket", region: "r", customURL: url) }
  }

  @Test(arguments: ["", "b--x-s3", "arn:aws:s3::123:accesspoint/x.mrap", "arn:aws:s3-outposts:r:1:outpost/x"])
  func `a bucket of a kind that can't be mounted is refused`(bucket: String) {
    #expect(throws: EndpointError.self) { try Endpoint(bucket: bucket, region: "us-east-1") }
  }

  struct Clash: Sendable {
    let bucket: String
    var region = "us-west-2"
    var url: String?
    let options: EndpointOptions
  }

  @Test(arguments: [
    Clash(bucket: "a.b.c", options: EndpointOptions(accelerate: true)),
    Clash(bucket: "bucket", options: EndpointOptions(pathStyle: true, accelerate: true)),
    Clash(bucket: "bucket", options: EndpointOptions(fips: true, accelerate: true)),
    Clash(bucket: "bucket", region: "cn-north-1", options: EndpointOptions(accelerate: true)),
    Clash(bucket: "bucket", region: "cn-north-1", options: EndpointOptions(fips: true)),
    Clash(bucket: "bucket", url: "https://s3.example.com", options: EndpointOptions(fips: true)),
    Clash(bucket: "bucket", url: "https://s3.example.com", options: EndpointOptions(dualStack: true)),
    Clash(bucket: "bucket", url: "https://s3.example.com", options: EndpointOptions(accelerate: true)),
    Clash(bucket: "arn:aws:s3:us-west-2:123456789012:accesspoint/p", options: EndpointOptions(accelerate: true)),
    Clash(bucket: "arn:aws:s3:us-west-2:123456789012:accesspoint/p", options: EndpointOptions(pathStyle: true)),
    Clash(bucket: "arn:aws:s3:eu-west-1:123456789012:accesspoint/p", options: EndpointOptions(followsARN: false)),
    Clash(bucket: "arn:aws:s3:cn-north-1:123456789012:accesspoint/p", options: EndpointOptions()),
    Clash(bucket: "arn:aws:s3::123456789012:accesspoint/p.mrap", options: EndpointOptions()),
  ])
  func `what does not go together is refused, and nothing is left out silently`(clash: Clash) {
    #expect(throws: EndpointError.self) {
      try Endpoint(bucket: clash.bucket, region: clash.region, customURL: clash.url, options: clash.options)
    }
  }

  @Test func `the settings of every AWS tool choose the endpoint`() {
    let profile = AWSProfile(
      name: "p",
      values: [
        "use_fips_endpoint": "true", "s3.use_dualstack_endpoint": "true", "s3.use_accelerate_endpoint": "false",
        "s3.use_arn_region": "False",
      ])
    #expect(
      EndpointOptions(environment: [:], profile: profile)
        == EndpointOptions(dualStack: true, fips: true, followsARN: false))
    let environment = ["AWS_USE_FIPS_ENDPOINT": "false", "AWS_USE_DUALSTACK_ENDPOINT": "true"]
    #expect(EndpointOptions(environment: environment, profile: profile).fips == false)
    #expect(EndpointOptions(environment: [:], profile: nil) == EndpointOptions())
  }

  @Test func `credentials go to the endpoint's own domain only`() throws {
    let aws = try Endpoint(bucket: "bucket", region: "us-east-1")
    func address(_ url: String) throws -> HostAddress { try HostAddress.parse(url: url).address }
    #expect(aws.mayRedirect(to: try address("https://bucket.s3-eu-west-1.amazonaws.com/key")))
    #expect(!aws.mayRedirect(to: try address("http://bucket.s3-eu-west-1.amazonaws.com/key")))
    #expect(!aws.mayRedirect(to: try address("https://evilamazonaws.com/key")))
    #expect(!aws.mayRedirect(to: try address("https://amazonaws.com.evil.example/key")))
    let own = try Endpoint(bucket: "bucket", region: "r", customURL: "http://s3.example.com:8080")
    #expect(own.mayRedirect(to: try address("http://node1.s3.example.com:9000")))
    #expect(!own.mayRedirect(to: try address("http://example.com")))
  }
}
