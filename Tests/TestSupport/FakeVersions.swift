// A scripted bucket that keeps versions, and its listing of them (ListObjectVersions).
import MirrorPlatform
import MirrorStore

struct FakeVersion: Sendable {
  let id: String
  /// Nil: a mark of deletion.
  let object: FakeObject?
  /// Seconds since 1970.
  let time: Int64
}

extension FakeS3 {
  /// Ids of the versions of a key, the newest first.
  public func versions(of key: String) -> [String] { objects { $0.versions[ObjectKey(key)]?.map(\.id) ?? [] } }

  /// The versions of a key are gone for good, as by a lifecycle rule.
  public func forgetVersions(of key: String) { change { $0.removeVersions(ObjectKey(key)) } }
}

extension FakeS3Core.State {
  mutating func put(_ key: ObjectKey, _ object: FakeObject) {
    if settings.keepsVersions { objects.addVersion(key, object, at: object.modified ?? settings.now) }
    objects.put(key, object)
  }

  mutating func delete(_ key: ObjectKey) {
    if settings.keepsVersions { objects.addVersion(key, nil, at: settings.now) }
    objects.remove(key)
  }
}

struct S3VersionListing {
  private let request: RecordedRequest
  private let bucket: String
  private let state: FakeS3Core.State

  init(_ request: RecordedRequest, bucket: String, state: FakeS3Core.State) {
    self.request = request
    self.bucket = bucket
    self.state = state
  }

  private enum Entry {
    case version(ObjectKey, FakeVersion, isLatest: Bool)
    case group([UInt8])
  }

  var answer: FakeAnswer {
    let limit = min(request.query["max-keys"].flatMap { Int($0) } ?? 1000, state.settings.pageSize)
    let all = entries
    var xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListVersionsResult><Name>\(bucket)</Name>"
    if isEncoded { xml += "<EncodingType>url</EncodingType>" }
    xml += "<IsTruncated>\(all.count > limit)</IsTruncated>"
    if all.count > limit, let last = all.prefix(limit).last {
      switch last {
      case .version(let key, let version, _):
        xml += "<NextKeyMarker>\(spelled(key.bytes))</NextKeyMarker>"
        xml += "<NextVersionIdMarker>\(version.id)</NextVersionIdMarker>"
      case .group(let group): xml += "<NextKeyMarker>\(spelled(group))</NextKeyMarker>"
      }
    }
    for entry in all.prefix(limit) { xml += text(entry) }
    return FakeAnswer(
      200, fields: Fields([("Content-Type", "application/xml")]), Array((xml + "</ListVersionsResult>").utf8))
  }

  private var entries: [Entry] {
    let prefix = request.query.bytes("prefix") ?? []
    let isDelimited = request.query.bytes("delimiter") != nil
    let marker = request.query.bytes("key-marker").map { ObjectKey($0) }
    let versionMarker = request.query["version-id-marker"]
    var entries: [Entry] = []
    var lastGroup: [UInt8]?
    for (key, versions) in state.objects.versions.sorted(by: { $0.key < $1.key }) where key.bytes.starts(with: prefix) {
      if isDelimited, let slash = key.bytes[prefix.count...].firstIndex(of: 0x2F) {
        let group = Array(key.bytes[...slash])
        if group != lastGroup, marker.map({ $0 < ObjectKey(group) }) ?? true { entries.append(.group(group)) }
        lastGroup = group
        continue
      }
      if let marker, key < marker || key == marker && versionMarker == nil { continue }
      var rest = versions[...]
      if key == marker, let seen = versions.firstIndex(where: { $0.id == versionMarker }) {
        rest = versions[(seen + 1)...]
      }
      for version in rest { entries.append(.version(key, version, isLatest: version.id == versions[0].id)) }
    }
    return entries
  }

  private func text(_ entry: Entry) -> String {
    switch entry {
    case .group(let group): return "<CommonPrefixes><Prefix>\(spelled(group))</Prefix></CommonPrefixes>"
    case .version(let key, let version, let isLatest):
      let name = version.object == nil ? "DeleteMarker" : "Version"
      var xml = "<\(name)><Key>\(spelled(key.bytes))</Key><VersionId>\(version.id)</VersionId>"
      xml += "<IsLatest>\(isLatest)</IsLatest>"
      xml += "<LastModified>\(Timestamp(seconds: version.time).rfc3339.dropLast()).000Z</LastModified>"
      if let object = version.object {
        if let etag = object.etag { xml += "<ETag>\(etag.split(separator: "\"").joined())</ETag>" }
        xml += "<Size>\(object.body.size)</Size><StorageClass>\(object.storageClass ?? "STANDARD")</StorageClass>"
      }
      return xml + "</\(name)>"
    }
  }

  private var isEncoded: Bool { state.settings.knowsEncodingType && request.query["encoding-type"] == "url" }

  private func spelled(_ bytes: [UInt8]) -> String {
    isEncoded ? percentEncoded(bytes, keepingSlash: true) : String(decoding: bytes, as: UTF8.self)
  }
}
