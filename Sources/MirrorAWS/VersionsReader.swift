// A ListObjectVersions answer, parsed as it streams in.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

/// `@unchecked Sendable`: the transfer thread writes while the request runs, its caller reads after it ended.
final class VersionsReader: AnswerReader, XMLConsumer, @unchecked Sendable {
  enum Outcome {
    case page(ListPage)
    case error(ErrorDocument)
    case malformed(String)
  }

  private struct RawVersion {
    var key: [UInt8] = []
    var id = ""
    var tag: EntityTag?
    var size: Int64?
    var time: WallTime?
    var storageClass: String?
    var isDeleteMarker = false
  }

  private var reader: XMLReader?
  private var isWellFormed = true
  private var root = ""
  private var error = ErrorDocument()
  private var versions: [RawVersion] = []
  private var version = RawVersion()
  private var prefixes: [[UInt8]] = []
  private var isInPrefixes = false
  private var isEncoded = false
  private var isTruncated = false
  private var nextKey: [UInt8] = []
  private var nextVersion = ""

  init() { reader = XMLReader(self) }

  func begin(_ head: HTTPHead) -> Bool { true }

  func receive(_ bytes: RawSpan) -> Bool {
    isWellFormed = isWellFormed && (reader?.feed(bytes) ?? false)
    return isWellFormed
  }

  func opened(_ name: String, depth: Int) {
    if depth == 1 { root = name }
    guard depth == 2 else { return }
    isInPrefixes = name == "CommonPrefixes"
    if name == "Version" || name == "DeleteMarker" {
      version = RawVersion()
      version.isDeleteMarker = name == "DeleteMarker"
    }
  }

  func closed(_ name: String, depth: Int, text: [UInt8]) {
    guard root == "ListVersionsResult" else {
      if root == "Error" { error.take(name, text) }
      return
    }
    switch depth {
    case 2: closedField(name, text)
    case 3 where isInPrefixes: if name == "Prefix" { prefixes.append(text) }
    case 3: closedAttribute(name, text)
    default: break
    }
  }

  private func closedField(_ name: String, _ text: [UInt8]) {
    switch name {
    case "Version", "DeleteMarker": if !version.key.isEmpty { versions.append(version) }
    case "EncodingType": isEncoded = text.elementsEqual("url".utf8)
    case "IsTruncated": isTruncated = text.elementsEqual("true".utf8)
    case "NextKeyMarker": nextKey = text
    case "NextVersionIdMarker": nextVersion = String(decoding: text, as: UTF8.self)
    default: break
    }
  }

  private func closedAttribute(_ name: String, _ text: [UInt8]) {
    switch name {
    case "Key": version.key = text
    case "VersionId": version.id = String(decoding: text, as: UTF8.self)
    case "ETag": version.tag = ListingText.tag(text)
    case "Size": version.size = ListingText.size(text)
    case "LastModified": version.time = ListingText.time(text)
    case "StorageClass": version.storageClass = ListingText.storageClass(text)
    default: break
    }
  }

  /// The page, when the answer has ended; once.
  func finish() -> Outcome {
    let isComplete = isWellFormed && (reader?.finish() ?? false)
    if root == "Error", !error.code.isEmpty { return .error(error) }
    guard isComplete else { return .malformed("the listing of versions is no complete XML document") }
    guard root == "ListVersionsResult" else { return .malformed("the answer is no listing of versions but <\(root)>") }
    var listed: [ListedVersion] = []
    for version in versions {
      guard let time = version.time else { return .malformed("a version has no date") }
      // What was deleted has none; of anything else zero would be a lie.
      guard let size = version.isDeleteMarker ? 0 : version.size else { return .malformed("a version has no size") }
      let revision = ObjectRevision(
        etag: version.tag, size: size, modified: time.seconds, version: version.id.isEmpty ? nil : version.id)
      let object = ListedObject(key: decoded(version.key), revision: revision, storageClass: version.storageClass)
      listed.append(ListedVersion(object, time: time, isDeleteMarker: version.isDeleteMarker))
    }
    let groups = prefixes.map(decoded).sorted()
    var page = ListPage(objects: [], prefixes: groups, next: nil)
    page.versions = Self.ordered(listed)
    if isTruncated {
      let last = [page.versions.last?.object.key, groups.last].compactMap(\.self).max()
      guard let key = nextKey.isEmpty ? last : decoded(nextKey) else {
        return .malformed("the listing of versions goes on but is empty")
      }
      page.next = VersionMarker(key: key, version: nextVersion.isEmpty ? nil : nextVersion).token
    }
    return .page(page)
  }

  /// By key, and of each the newest first: some servers list the marks of deletion after all versions.
  private static func ordered(_ versions: [ListedVersion]) -> [ListedVersion] {
    func precedes(_ a: ListedVersion, _ b: ListedVersion) -> Bool {
      a.object.key == b.object.key ? a.time > b.time : a.object.key < b.object.key
    }
    let isOrdered = zip(versions, versions.dropFirst()).allSatisfy { !precedes($1, $0) }
    if isOrdered { return versions }
    return versions.enumerated().sorted { a, b in
      precedes(a.element, b.element) || !precedes(b.element, a.element) && a.offset < b.offset
    }.map(\.element)
  }

  private func decoded(_ bytes: [UInt8]) -> ObjectKey { ListingText.key(bytes, isEncoded: isEncoded) }
}

extension ListingText {
  /// As `seconds`, with its fraction.
  static func time(_ text: [UInt8]) -> WallTime? {
    guard let seconds = seconds(text) else { return nil }
    var milliseconds: Int64 = 0
    if let dot = text.firstIndex(of: 0x2E) {
      let digits = text[(dot + 1)...].prefix { (0x30...0x39).contains($0) }.prefix(3)
      milliseconds = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
      for _ in digits.count..<3 { milliseconds *= 10 }
    }
    return WallTime(milliseconds: seconds * 1000 + milliseconds)
  }
}
