// A ListObjectsV2 answer, parsed as it streams in: no copy of the document is kept.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// `@unchecked Sendable`: the transfer thread writes while the request runs, its caller reads after it ended.
final class ListingReader: AnswerReader, XMLConsumer, @unchecked Sendable {
  enum Outcome {
    /// `unsized` are indices of objects whose size the server left out; `isOld` when the answer is one of version 1.
    case page(ListPage, unsized: [Int], isOld: Bool)
    case error(ErrorDocument)
    case malformed(String)
  }

  private var reader: XMLReader?
  private var isWellFormed = true
  private var root = ""
  private var error = ErrorDocument()
  private var draft = ListingDraft()
  private let onNext: (@Sendable (String) -> Void)?

  /// `onNext` is told where the listing goes on as soon as the answer says so, which most servers do before the keys.
  init(onNext: (@Sendable (String) -> Void)? = nil) {
    self.onNext = onNext
    reader = XMLReader(self)
  }

  var isEncoded: Bool { draft.isEncoded }

  func begin(_ head: HTTPHead) -> Bool { true }

  func receive(_ bytes: RawSpan) -> Bool {
    isWellFormed = isWellFormed && (reader?.feed(bytes) ?? false)
    return isWellFormed
  }

  func opened(_ name: String, depth: Int) {
    if depth == 1 {
      root = name
      draft.isListing = name == "ListBucketResult"
    }
    draft.opened(name, depth: depth)
  }

  func closed(_ name: String, depth: Int, text: [UInt8]) {
    if draft.closed(name, depth: depth, text: text) { onNext?(String(decoding: draft.token, as: UTF8.self)) }
    if !draft.isListing, root == "Error" { error.take(name, text) }
  }

  /// The page, when the answer has ended; once.
  func finish() -> Outcome {
    let isComplete = isWellFormed && (reader?.finish() ?? false)
    if root == "Error", !error.code.isEmpty { return .error(error) }
    guard isComplete else { return .malformed("the listing is no complete XML document") }
    guard draft.isListing else { return .malformed("the answer is no listing but <\(root)>") }
    return draft.outcome()
  }
}

/// A page as far as it has come: a value in one place, since each of its thousands of fields is a call.
private struct ListingDraft {
  var isListing = false
  private var entries: [RawEntry] = []
  private var entry = RawEntry()
  private var prefixes: [[UInt8]] = []
  private var isInPrefixes = false
  private(set) var isEncoded = false
  private var isTruncated = false
  private(set) var token: [UInt8] = []
  /// Fields that only one of the two versions of the listing has.
  private var hasCount = false
  private var hasMarker = false
  private var nextMarker: [UInt8] = []

  /// An entry as spelled; whether keys are encoded may come after them.
  private struct RawEntry {
    var key: [UInt8] = []
    var tag: EntityTag?
    var size: Int64?
    var modified: Int64?
    var storageClass: String?
  }

  mutating func opened(_ name: String, depth: Int) {
    guard depth == 2 else { return }
    isInPrefixes = name == "CommonPrefixes"
    if name == "Contents" { entry = RawEntry() }
  }

  /// Whether it is known by now where the listing goes on.
  mutating func closed(_ name: String, depth: Int, text: [UInt8]) -> Bool {
    guard isListing else { return false }
    switch depth {
    case 2: return closedField(name, text)
    case 3 where isInPrefixes: if name == "Prefix" { prefixes.append(text) }
    case 3: closedAttribute(name, text)
    default: break
    }
    return false
  }

  private mutating func closedField(_ name: String, _ text: [UInt8]) -> Bool {
    switch name {
    case "Contents": if !entry.key.isEmpty { entries.append(entry) }
    case "EncodingType": isEncoded = text.elementsEqual("url".utf8)
    case "IsTruncated":
      isTruncated = text.elementsEqual("true".utf8)
      return isTruncated && !token.isEmpty
    case "NextContinuationToken":
      token = text
      return isTruncated && !token.isEmpty
    case "KeyCount": hasCount = true
    case "Marker": hasMarker = true
    case "NextMarker": nextMarker = text
    default: break
    }
    return false
  }

  private mutating func closedAttribute(_ name: String, _ text: [UInt8]) {
    switch name {
    case "Key": entry.key = text
    case "ETag": entry.tag = ListingText.tag(text)
    case "Size": entry.size = ListingText.size(text)
    case "LastModified": entry.modified = ListingText.seconds(text)
    case "StorageClass": entry.storageClass = ListingText.storageClass(text)
    default: break
    }
  }

  func outcome() -> ListingReader.Outcome {
    let isOld = token.isEmpty && !hasCount && (hasMarker || !nextMarker.isEmpty)
    if isTruncated, token.isEmpty, !isOld { return .malformed("the listing goes on but has no token") }
    let objects = entries.map {
      ListedObject(
        key: decoded($0.key), revision: ObjectRevision(etag: $0.tag, size: $0.size ?? 0, modified: $0.modified),
        storageClass: $0.storageClass)
    }
    let groups = prefixes.map(decoded)
    var next = isTruncated ? String(decoding: token, as: UTF8.self) : nil
    if isTruncated, isOld {
      // The last key or group where the server names none (S3 API Reference, ListObjects).
      let last = nextMarker.isEmpty ? [objects.last?.key, groups.last].compactMap(\.self).max() : decoded(nextMarker)
      guard let last else { return .malformed("the listing goes on but is empty") }
      next = ListingMarker.token(last)
    }
    return .page(
      ListPage(objects: objects, prefixes: groups, next: next),
      unsized: entries.indices.filter { entries[$0].size == nil }, isOld: isOld)
  }

  private func decoded(_ bytes: [UInt8]) -> ObjectKey { ListingText.key(bytes, isEncoded: isEncoded) }
}

/// Where a listing of version 1 goes on: a key, in the place of a token.
enum ListingMarker {
  private static let mark = "marker="

  static func token(_ key: ObjectKey) -> String { mark + percentEncoded(key.bytes, keepingSlash: true) }

  /// Nil for a server's own token.
  static func key(_ token: String) -> ObjectKey? {
    token.hasPrefix(mark) ? ObjectKey(percentDecoded(token.dropFirst(mark.count).utf8, form: false)) : nil
  }
}

/// Values of a listing's entries.
enum ListingText {
  /// With quotes, as the header has them: some servers leave them out of listings.
  static func tag(_ text: [UInt8]) -> EntityTag? {
    guard !text.isEmpty else { return nil }
    let isQuoted = text.last == 0x22
    return EntityTag(usable: isQuoted ? text : [0x22] + text + [0x22])
  }

  /// As it was before `encoding-type=url`, where that was heeded.
  static func key(_ text: [UInt8], isEncoded: Bool) -> ObjectKey {
    guard isEncoded, text.contains(where: { $0 == 0x25 || $0 == 0x2B }) else { return ObjectKey(text) }
    return ObjectKey(percentDecoded(text, form: true))
  }

  /// Nil for the usual one.
  static func storageClass(_ text: [UInt8]) -> String? {
    text.isEmpty || text.elementsEqual("STANDARD".utf8) ? nil : String(decoding: text, as: UTF8.self)
  }

  /// Digits, read in place.
  static func size(_ text: [UInt8]) -> Int64? {
    guard !text.isEmpty, text.count <= 18, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// `2026-11-30T11:26:57[.123]Z` without its fraction; the usual spelling is read in place.
  static func seconds(_ text: [UInt8]) -> Int64? {
    guard text.count >= 20, text.last == 0x5A, text[4] == 0x2D, text[7] == 0x2D, text[10] == 0x54, text[13] == 0x3A,
      text[16] == 0x3A, text[19] == 0x5A || text[19] == 0x2E
    else { return Timestamp(rfc3339: String(decoding: text, as: UTF8.self))?.seconds }
    func number(_ range: Range<Int>) -> Int? {
      var value = 0
      for byte in text[range] {
        guard (0x30...0x39).contains(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
      }
      return value
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    var time = Timestamp(seconds: 0)
    (time.year, time.month, time.day) = (year, month, day)
    (time.hour, time.minute, time.second) = (hour, minute, second)
    return time.seconds
  }
}
