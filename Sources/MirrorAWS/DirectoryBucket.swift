// The names of directory buckets (S3 Express One Zone): each says where its bucket is.

/// `NAME--ZONE--x-s3`, or `NAME--ZONE--xa-s3` for an access point (S3 User Guide, Directory bucket naming rules).
struct DirectoryBucket: Hashable, Sendable {
  /// `usw2-az1`
  let zone: String

  /// Nil for the name of another kind of bucket.
  init?(_ name: String) {
    guard name.hasSuffix("--x-s3") || name.hasSuffix("--xa-s3") else { return nil }
    let parts = name.split(separator: "--", omittingEmptySubsequences: false)
    guard parts.count >= 3, !parts[parts.count - 2].isEmpty else { return nil }
    zone = String(parts[parts.count - 2])
  }

  /// The zone's region, by the way zones are called: `usw2-az1` lies in us-west-2. Nil where it is called otherwise.
  var region: String? {
    let areas = [
      "n": "north", "s": "south", "e": "east", "w": "west", "c": "central", "ne": "northeast", "se": "southeast",
      "nw": "northwest", "sw": "southwest",
    ]
    let name = zone.prefix { $0 != "-" }
    let number = name.drop { $0.isLetter }
    let letters = name.prefix { $0.isLetter }
    guard letters.count >= 3, !number.isEmpty, number.allSatisfy(\.isNumber),
      let area = areas[String(letters.dropFirst(2))]
    else { return nil }
    return "\(letters.prefix(2))-\(area)-\(number)"
  }

  /// Its host is one of its own zone.
  func service(_ options: EndpointOptions) -> String {
    "s3express\(options.fips ? "-fips" : "")-\(zone)\(options.dualStack ? ".dualstack" : "")"
  }

  func check(_ bucket: String, _ options: EndpointOptions) throws(EndpointError) {
    if options.accelerate { throw EndpointError("transfer acceleration and directory buckets don't go together") }
    if options.pathStyle == true { throw EndpointError("a directory bucket can't be asked in path style") }
    guard Endpoint.isLabel(bucket, allowingDots: false) else {
      throw EndpointError("\(bucket) can't be the name of a directory bucket")
    }
  }
}
