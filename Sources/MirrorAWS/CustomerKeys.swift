// Keys of the user's own, for objects that S3 keeps encrypted with them (SSE-C), and which of them opens what.
import MirrorHTTP
import MirrorPlatform
import MirrorStore
import Synchronization

/// One key of 256 bits; it never shows.
public struct CustomerKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  private let bytes: [UInt8]

  /// Nil unless there are 32 bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// The keys of a file: 32 bytes as they are, or a line each in base64 or hexadecimal; nil for anything else.
  public static func keys(in file: [UInt8]) -> [CustomerKey]? {
    if let key = CustomerKey(file) { return [key] }
    var keys: [CustomerKey] = []
    for line in String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let text = line.filter { !$0.isWhitespace }
      if text.isEmpty || text.hasPrefix("#") { continue }
      let bytes = MirrorPlatform.bytes(hexadecimal: text.utf8) ?? MirrorPlatform.bytes(base64: text)
      guard let key = bytes.flatMap({ CustomerKey($0) }) else { return nil }
      keys.append(key)
    }
    return keys.isEmpty ? nil : keys
  }

  var fields: [HTTPField] {
    let prefix = "x-amz-server-side-encryption-customer-"
    return [
      HTTPField(prefix + "algorithm", "AES256"), HTTPField(prefix + "key", base64(bytes)),
      HTTPField(prefix + "key-MD5", base64(Digest.value(.md5, of: bytes))),
    ]
  }

  public var description: String { "a customer key" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Which key opened the objects of a directory last; safe to share.
final class CustomerKeyring: Sendable {
  let keys: [CustomerKey]
  /// By hash of the directory; -1: none was needed.
  private let known = Mutex<[UInt64: Int]>([:])
  private let capacity = 10_000

  init(_ keys: [CustomerKey]) { self.keys = keys }

  /// What is to be tried, in this order: what helped in this directory, then none, then each key.
  func candidates(for key: ObjectKey) -> [Int] {
    let all = [-1] + Array(keys.indices)
    guard let first = known.withLock({ $0[Self.directory(key)] }) else { return all }
    return [first] + all.filter { $0 != first }
  }

  func note(_ candidate: Int, opened key: ObjectKey) {
    known.withLock { known in
      if known.count >= capacity { known.removeAll() }
      known[Self.directory(key)] = candidate
    }
  }

  private static func directory(_ key: ObjectKey) -> UInt64 {
    stableHash(Array(key.bytes.prefix((key.bytes.lastIndex(of: 0x2F) ?? -1) + 1)))
  }
}

/// The keys tried for one request.
struct KeyAttempts {
  private let ring: CustomerKeyring
  private let key: ObjectKey
  private var left: [Int]

  /// Nil where there is nothing to try: no keys, no object, or a way on which a key could be overheard.
  init?(_ ring: CustomerKeyring, _ key: ObjectKey?, _ address: HostAddress) {
    guard let key, !ring.keys.isEmpty, address.scheme == "https" || address.isLoopback else { return nil }
    self.ring = ring
    self.key = key
    left = ring.candidates(for: key)
  }

  var fields: [HTTPField] {
    guard let candidate = left.first, candidate >= 0 else { return [] }
    return ring.keys[candidate].fields
  }

  func noteSuccess() {
    if let candidate = left.first { ring.note(candidate, opened: key) }
  }

  /// Whether another key may help after this refusal, which is then the one to send.
  mutating func next(after refusal: Refusal, isHead: Bool) -> Bool {
    let sent = (left.first ?? -1) >= 0
    let wantsOther: Bool
    switch refusal.head.status {
    // A HEAD tells nothing but the status.
    case 400: wantsOther = isHead || refusal.isAboutEncryption
    case 403: wantsOther = sent && (isHead || S3ErrorCode.meaning(refusal.code) == .accessDenied)
    default: wantsOther = false
    }
    guard wantsOther, left.count > 1 else { return false }
    left.removeFirst()
    return true
  }
}

extension Refusal {
  /// The object wants a key, or another, or none.
  var isAboutEncryption: Bool {
    let message = document?.message.lowercased() ?? ""
    return code == "InvalidRequest"
      && (message.contains("server side encryption") || message.contains("encryption parameters"))
      || code == "InvalidArgument" && message.contains("key")
  }
}
