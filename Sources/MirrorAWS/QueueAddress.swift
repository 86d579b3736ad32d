// A queue as the user names it: by region, account and name, or by its URL.

/// `sqs://REGION/ACCOUNT/QUEUE`, or the URL that SQS has for a queue.
public struct QueueAddress: Hashable, Sendable, CustomStringConvertible {
  /// What SQS knows the queue by.
  public let url: String
  /// Nil where the URL tells none.
  public let region: String?
  let address: HostAddress

  /// - Throws: what is wrong with the text.
  public init(parsing text: String) throws(EndpointError) {
    var url = text
    if text.hasPrefix("sqs://") {
      let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 3, Self.isName(parts[0]), Self.isAccount(parts[1]), Self.isName(parts[2]) else {
        throw EndpointError("write it as sqs://REGION/ACCOUNT/QUEUE, the account with its twelve digits")
      }
      url = "https://sqs.\(parts[0]).\(Endpoint.suffix(region: String(parts[0])))/\(parts[1])/\(parts[2])"
    } else if !text.hasPrefix("http://") && !text.hasPrefix("https://") {
      throw EndpointError("a queue is sqs://REGION/ACCOUNT/QUEUE, or its URL: https://sqs.REGION.amazonaws.com/…")
    }
    let (address, path) = try HostAddress.parse(url: url)
    let names = path.split(separator: "/")
    guard names.count >= 2, let queue = names.last, Self.isName(queue) else {
      throw EndpointError("the URL of a queue ends in its account and its name")
    }
    self.url = address.url + path
    self.address = address
    region = Self.region(of: address.host)
  }

  public var description: String { url }

  private static func isAccount(_ text: Substring) -> Bool {
    text.utf8.count == 12 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Of a queue (SQS Developer Guide, quotas) or a region.
  private static func isName(_ text: Substring) -> Bool {
    (1...80).contains(text.utf8.count)
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" || $0 == ".") }
  }

  /// `sqs.REGION.…`, before it perhaps the name of an endpoint of one's own, or the older `REGION.queue.…`.
  private static func region(of host: String) -> String? {
    let labels = host.split(separator: ".").map(String.init)
    guard host.contains(".amazon") || host.contains(".gov") || host.contains(".adc-e.uk") else { return nil }
    if let mark = labels.firstIndex(where: { $0 == "sqs" || $0 == "sqs-fips" }), mark + 1 < labels.count {
      return labels[mark + 1]
    }
    if labels.count > 2, labels[1] == "queue" { return labels[0] }
    return labels.first == "queue" ? "us-east-1" : nil
  }
}
