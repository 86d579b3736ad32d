// A request as its price sees it.
import MirrorPlatform

struct PricedRequest: Sendable {
  let purpose: RequestPurpose
  let kind: RequestKind
  /// The most that its answer can have.
  let bytes: Int64
  /// Tells the name that it is about from others.
  let name: UInt64
  let operation: String
  let subject: String

  init(_ purpose: RequestPurpose, _ kind: RequestKind, bytes: Int64, _ key: ObjectKey, operation: String) {
    self.purpose = purpose
    self.kind = kind
    self.bytes = bytes
    self.operation = operation
    name = stableHash(key.bytes)
    subject = key.bytes.isEmpty ? "the bucket" : "\(key)"
  }

  /// What it may take, when objects of these classes are about.
  func estimate(_ prices: Prices, _ classes: Set<StorageClass>) -> Estimate {
    var usual = prices.of(kind)
    var perByte = prices.perByteReceived
    if kind == .get || kind == .head {
      for storageClass in classes {
        usual = max(usual, prices.of(kind, storageClass))
        perByte = max(perByte, prices.perByteReceived + (prices.classes[storageClass]?.perByteRetrieved ?? 0))
      }
    }
    let most = Spend(requests: 1, usd: usual + Double(bytes) * perByte)
    return Estimate(usual: Spend(requests: 1, usd: usual), most: most)
  }
}
