// What is mounted: a bucket, and the part of it below a prefix.
public import MirrorStore

/// SOURCE of the command line: `BUCKET`, `BUCKET/PREFIX`, `s3://BUCKET/PREFIX`, an ARN of a bucket or access point.
public struct Source: Equatable, Sendable {
  /// The bucket's name, or an access point's alias or ARN.
  public let bucket: String
  /// Empty, or ends in `/`.
  public let prefix: ObjectKey
  /// As it was written; the mount table shows it, so that mount(8) recognises its line of fstab.
  public let written: String

  /// `s3://BUCKET/PREFIX`, however it was written.
  var url: String { "s3://\(bucket)/\(prefix)" }

  /// Where only options are looked at.
  static let none = Source(bucket: "none")
  private init(bucket: String) {
    (self.bucket, prefix, written) = (bucket, ObjectKey(""), bucket)
  }

  public init(parsing text: String) throws(CommandFailure) {
    written = text
    if text.hasPrefix("arn:") {
      let (name, path) = try Self.parts(ofARN: text)
      bucket = name
      prefix = Self.prefix(path)
      return
    }
    if text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("~") {
      throw Self.invalid(text, "this is a path; SOURCE, a bucket, comes first, and then MOUNTPOINT")
    }
    if text.hasPrefix("s3:"), !text.hasPrefix("s3://") {
      throw Self.invalid(text, "write it with two slashes: s3://BUCKET/PREFIX")
    }
    var rest = Substring(text)
    if let scheme = text.range(of: "://") {
      guard text[..<scheme.lowerBound].lowercased() == "s3" else {
        let labels = text[scheme.upperBound...].prefix { $0 != "/" && $0 != ":" }.split(separator: ".")
        let isAWS = labels.count > 1 && labels[1].hasPrefix("s3")
        throw Self.invalid(
          text,
          isAWS ? "write it as s3://\(labels[0])" : "only s3:// is understood; an endpoint goes into --endpoint-url")
      }
      rest = text[scheme.upperBound...]
    }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    bucket = String(rest[..<slash])
    prefix = Self.prefix(rest[slash...].dropFirst())
    if let problem = Self.problem(of: bucket) { throw Self.invalid(text, problem) }
  }

  private static func prefix(_ path: Substring) -> ObjectKey {
    let path = path.hasSuffix("/") ? path.dropLast() : path
    return ObjectKey(path.isEmpty ? "" : path + "/")
  }

  private static func invalid(_ text: String, _ problem: String) -> CommandFailure {
    CommandFailure(.usage, "source '\(text)': \(problem)")
  }

  /// `arn:PARTITION:s3:::BUCKET[/PREFIX]`, `arn:PARTITION:s3:REGION:ACCOUNT:accesspoint/NAME[/PREFIX]`.
  private static func parts(ofARN text: String) throws(CommandFailure) -> (name: String, path: Substring) {
    let fields = text.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard fields.count == 6, fields[2] == "s3", !fields[5].isEmpty else {
      throw invalid(text, "this is not the ARN of a bucket (arn:aws:s3:::BUCKET) or access point")
    }
    let words = fields[5].split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    if words[0] == "accesspoint", words.count > 1 {
      let path = words.count == 3 ? words[2] : ""
      return (String(text.dropLast(path.isEmpty ? (words.count == 3 ? 1 : 0) : path.count + 1)), path)
    }
    let bucket = String(words[0])
    if let problem = problem(of: bucket) { throw invalid(text, problem) }
    return (bucket, fields[5].dropFirst(bucket.count + 1))
  }

  /// What is wrong with a bucket's name; nil when nothing is.
  private static func problem(of bucket: String) -> String? {
    if bucket.isEmpty { return "the bucket's name is missing (BUCKET, BUCKET/PREFIX or s3://BUCKET/PREFIX)" }
    let lower = bucket.lowercased()
    if lower != bucket {
      return "bucket names have no upper-case letters" + (problem(of: lower) == nil ? " (is it '\(lower)'?)" : "")
    }
    if bucket.utf8.count > 63 { return "a bucket's name has at most 63 characters" }
    let letters = bucket.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E
    }
    if !letters { return "a bucket's name consists of lower-case letters, digits, '-' and '.'" }
    let edges = [bucket.utf8.first, bucket.utf8.last]
    if edges.contains(0x2D) || edges.contains(0x2E) { return "a bucket's name begins and ends with a letter or digit" }
    if bucket.contains("..") { return "a bucket's name can't contain '..'" }
    let parts = bucket.split(separator: ".")
    if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return "a bucket's name can't be an IP address" }
    return nil
  }
}

extension StringProtocol {
  /// The first place where `needle` stands.
  func range(of needle: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
      start = index(after: start)
    }
    return nil
  }
}
