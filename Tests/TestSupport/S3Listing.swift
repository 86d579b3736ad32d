// ListObjectsV2, as S3 documents it: byte order, groups, pages, url encoding.
import MirrorPlatform
import MirrorStore

/// Objects in key order.
struct FakeObjects: Sendable {
  /// By key, the newest first; of those put while the bucket keeps versions.
  private(set) var versions: [ObjectKey: [FakeVersion]] = [:]
  private var lastVersion = 0
  private var byKey: [ObjectKey: FakeObject] = [:]
  private var keys: [ObjectKey] = []
  private var isSorted = true

  subscript(_ key: ObjectKey) -> FakeObject? { byKey[key] }

  mutating func put(_ key: ObjectKey, _ object: FakeObject) {
    if byKey.updateValue(object, forKey: key) == nil {
      if let last = keys.last, key < last { isSorted = false }
      keys.append(key)
    }
  }
  mutating func remove(_ key: ObjectKey) {
    if byKey.removeValue(forKey: key) != nil { keys.removeAll { $0 == key } }
  }
  /// `object` nil: a mark that it was deleted. The id is that of nothing else in this process.
  mutating func addVersion(_ key: ObjectKey, _ object: FakeObject?, at time: Int64) {
    lastVersion += 1
    let id = "v\(lastVersion).\(hexadecimal(Array("\(key)".utf8)).suffix(8))"
    versions[key, default: []].insert(FakeVersion(id: id, object: object, time: time), at: 0)
  }
  mutating func removeVersions(_ key: ObjectKey) { versions[key] = nil }
  mutating func sort() {
    if !isSorted { keys.sort() }
    isSorted = true
  }

  /// The first key at or after these bytes, once sorted.
  func index(from bytes: [UInt8]) -> Int {
    var low = 0
    var high = keys.count
    let key = ObjectKey(bytes)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
  func key(at index: Int) -> ObjectKey? { index < keys.count ? keys[index] : nil }
}

/// The listing that one request asks for.
struct S3Listing {
  let request: RecordedRequest
  let bucket: String
  let state: FakeS3Core.State

  private enum Entry {
    case object(ObjectKey)
    case group([UInt8])
    var bytes: [UInt8] {
      switch self {
      case .object(let key): key.bytes
      case .group(let prefix): prefix
      }
    }
  }

  var answer: FakeAnswer {
    if request.query.bytes("versions") != nil { return S3VersionListing(request, bucket: bucket, state: state).answer }
    let wanted = request.query["max-keys"].flatMap { Int($0) } ?? 1000
    let limit = max(0, min(wanted, state.settings.pageSize))
    var entries = state.settings.isInOrder ? self.entries(limit: limit + 1) : shuffledEntries(limit: limit + 1)
    let truncated = entries.count > limit && limit > 0
    if entries.count > limit { entries.removeLast(entries.count - limit) }
    var answer = FakeAnswer(
      200, fields: Fields([("Content-Type", "application/xml"), ("x-amz-bucket-region", state.settings.region)]),
      Array(document(entries, limit: wanted, next: truncated ? entries.last?.bytes : nil).utf8))
    answer.chunked = state.settings.chunkedLists
    return answer
  }

  private var prefix: [UInt8] { request.query.bytes("prefix") ?? [] }
  /// Where to go on, exclusive: a token names the last entry of the page before.
  private var after: [UInt8]? {
    if isOld { return request.query.bytes("marker") }
    if let token = request.query["continuation-token"] { return bytes(hexadecimal: Array(token.dropFirst(1).utf8)) }
    return request.query.bytes("start-after")
  }

  private func entries(limit: Int) -> [Entry] { entries(limit: limit, after: after) }

  private func entries(limit: Int, after: [UInt8]?) -> [Entry] {
    let delimiter = request.query.bytes("delimiter") ?? []
    let objects = state.objects
    var entries: [Entry] = []
    var index = objects.index(from: prefix)
    if let after { index = max(index, objects.index(from: after)) }
    while entries.count < limit, let key = objects.key(at: index), key.bytes.starts(with: prefix) {
      if let end = endOfGroup(key.bytes, delimiter) {
        let group = Array(key.bytes[..<end])
        if after.map({ $0.lexicographicallyPrecedes(group) }) ?? true { entries.append(.group(group)) }
        index = objects.index(from: successor(group))
      } else {
        if after != key.bytes { entries.append(.object(key)) }
        index += 1
      }
    }
    return entries
  }

  /// What there is in an order of its own; a token goes on after the entry that it names.
  private func shuffledEntries(limit: Int) -> [Entry] {
    let token = request.query["continuation-token"].flatMap { bytes(hexadecimal: Array($0.dropFirst(1).utf8)) }
    let all = entries(limit: .max, after: request.query.bytes("start-after")).sorted {
      (stableHash($0.bytes), $0.bytes.count) < (stableHash($1.bytes), $1.bytes.count)
    }
    let start = token.flatMap { token in all.firstIndex { $0.bytes == token } }.map { $0 + 1 } ?? 0
    return Array(all[start...].prefix(limit))
  }

  private func endOfGroup(_ key: [UInt8], _ delimiter: [UInt8]) -> Int? {
    guard !delimiter.isEmpty, key.count >= prefix.count + delimiter.count else { return nil }
    for start in prefix.count...(key.count - delimiter.count) where key[start...].starts(with: delimiter) {
      return start + delimiter.count
    }
    return nil
  }

  /// The least bytes after everything that begins with these.
  private func successor(_ group: [UInt8]) -> [UInt8] {
    var bytes = group
    while let last = bytes.last, last == 0xFF { bytes.removeLast() }
    if let last = bytes.popLast() { bytes.append(last + 1) }
    return bytes
  }

  private func document(_ entries: [Entry], limit: Int, next: [UInt8]?) -> String {
    var xml = """
      <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>\(bucket)</Name>\
      <Prefix>\(spelled(prefix))</Prefix>
      """
    if isOld {
      xml += "<Marker>\(spelled(after ?? []))</Marker>"
      // Only with a delimiter, as S3 has it.
      if let next, request.query.bytes("delimiter") != nil { xml += "<NextMarker>\(spelled(next))</NextMarker>" }
      xml += "<MaxKeys>\(limit)</MaxKeys>"
    } else {
      xml += version2(entries, limit: limit, next: next)
    }
    if let delimiter = request.query.bytes("delimiter") { xml += "<Delimiter>\(spelled(delimiter))</Delimiter>" }
    if isEncoded { xml += "<EncodingType>url</EncodingType>" }
    xml += "<IsTruncated>\(next != nil)</IsTruncated>"
    for case .object(let key) in entries { xml += contents(key) }
    for case .group(let prefix) in entries {
      xml += "<CommonPrefixes><Prefix>\(spelled(prefix))</Prefix></CommonPrefixes>"
    }
    return xml + "</ListBucketResult>"
  }

  private var isOld: Bool { !state.settings.knowsListVersion2 }

  private func version2(_ entries: [Entry], limit: Int, next: [UInt8]?) -> String {
    var xml = ""
    if let after = request.query.bytes("start-after") { xml += "<StartAfter>\(spelled(after))</StartAfter>" }
    if let token = request.query["continuation-token"] { xml += "<ContinuationToken>\(token)</ContinuationToken>" }
    if let next { xml += "<NextContinuationToken>T\(hexadecimal(next))</NextContinuationToken>" }
    return xml + "<KeyCount>\(entries.count)</KeyCount><MaxKeys>\(limit)</MaxKeys>"
  }

  private func contents(_ key: ObjectKey) -> String {
    guard let object = state.objects[key] else { return "" }
    var xml = "<Contents><Key>\(spelled(key.bytes))</Key>"
    if let modified = object.modified {
      xml += "<LastModified>\(Timestamp(seconds: modified).rfc3339.dropLast()).000Z</LastModified>"
    }
    if let etag = state.settings.listedTag(object.etag) { xml += "<ETag>\(escaped(Array(etag.utf8)))</ETag>" }
    return xml
      + (state.settings.listsSizes ? "<Size>\(object.body.size)</Size>" : "")
      + "<StorageClass>\(object.storageClass ?? "STANDARD")</StorageClass></Contents>"
  }

  private var isEncoded: Bool { state.settings.knowsEncodingType && request.query["encoding-type"] == "url" }

  private func spelled(_ bytes: [UInt8]) -> String {
    guard isEncoded else { return escaped(bytes) }
    return percentEncoded(bytes, keepingSlash: true).split(separator: "%20", omittingEmptySubsequences: false)
      .joined(separator: "+")
  }

  private func escaped(_ bytes: [UInt8]) -> String {
    var text = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case _ where scalar.value < 0x20: text += "&#x\(String(scalar.value, radix: 16));"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
