// What S3 answers: GetObject, HeadObject, HeadBucket, GetBucketLocation, and errors.
import MirrorPlatform
import MirrorStore

/// The scripted bucket at one moment.
struct S3Bucket {
  let name: String
  let state: FakeS3Core.State

  func answer(to request: RecordedRequest, _ faults: [Fault]) -> FakeAnswer {
    for fault in faults {
      switch fault {
      case .status(let status, let code, let retryAfter):
        return error(status, code, request, retryAfter: retryAfter)
      case .answer(let status, let fields, let body): return FakeAnswer(status, fields: fields, body)
      default: break
      }
    }
    var answer = proper(request, faults)
    for case .body(let bytes) in faults {
      answer.body = .bytes(bytes)
      answer.range = 0..<Int64(bytes.count)
    }
    return answer
  }

  private func proper(_ request: RecordedRequest, _ faults: [Fault]) -> FakeAnswer {
    if state.settings.requiresSignature, !isSigned(request) { return error(403, "AccessDenied", request) }
    if let accepts = state.settings.accepts, !accepts(request.accessKey) { return error(400, "ExpiredToken", request) }
    if isTooFarOff(request) { return error(403, "RequestTimeTooSkewed", request) }
    let asked = S3Address.bucket(of: request, expecting: name)
    if asked != name || !state.settings.exists { return error(404, "NoSuchBucket", request) }
    if let life = state.settings.sessionLife {
      if let refusal = refusedBySession(request, FakeSessions(now: state.settings.now, life: life)) { return refusal }
    }
    let region = Fields([("x-amz-bucket-region", state.settings.region)])
    switch request.kind {
    case .bucketHead: return FakeAnswer(200, fields: region)
    case .list: return S3Listing(request: request, bucket: name, state: state).answer
    case .get, .head: return object(request, faults)
    case .other:
      if request.query.bytes("versioning") != nil {
        if state.settings.deniesVersioning { return error(403, "AccessDenied", request) }
        let status = state.settings.keepsVersions ? "<Status>Enabled</Status>" : ""
        return FakeAnswer(200, Array("<VersioningConfiguration>\(status)</VersioningConfiguration>".utf8))
      }
      guard request.method == "GET", request.query.bytes("location") != nil else {
        return error(405, "MethodNotAllowed", request)
      }
      let region = state.settings.region == "us-east-1" ? "" : state.settings.region
      return FakeAnswer(
        200,
        Array(
          "<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(region)</LocationConstraint>".utf8))
    }
  }

  /// The answer to a request that a directory bucket does not serve; that of CreateSession too.
  private func refusedBySession(_ request: RecordedRequest, _ sessions: FakeSessions) -> FakeAnswer? {
    if request.kind == .bucketHead {
      let isSigned = Signature.isRight(request, service: "s3express", secret: RealServer.secretKey)
      return isSigned ? nil : error(403, "AccessDenied", request)
    }
    if request.kind == .other, request.query.bytes("session") != nil {
      return sessions.create(request) ?? error(403, "AccessDenied", request)
    }
    switch sessions.judge(request) {
    case .good: break
    case .expired: return error(400, "ExpiredToken", request)
    case .denied: return error(403, "AccessDenied", request)
    }
    return request.kind == .list && !FakeSessions.canList(request) ? error(400, "InvalidArgument", request) : nil
  }

  private func isSigned(_ request: RecordedRequest) -> Bool {
    request.fields["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=") == true
      && request.fields["x-amz-date"] != nil && request.fields["x-amz-content-sha256"] != nil
  }

  private func isTooFarOff(_ request: RecordedRequest) -> Bool {
    guard let date = request.fields["x-amz-date"].flatMap({ Timestamp(rfc3339: spelledOut($0)) }) else { return false }
    return abs(date.seconds - state.settings.now) > 900
  }

  /// `20261130T112657Z` with its marks.
  private func spelledOut(_ basic: String) -> String {
    var text = ""
    for (index, character) in basic.enumerated() {
      if index == 4 || index == 6 { text += "-" }
      if index == 11 || index == 13 { text += ":" }
      text.append(character)
    }
    return text
  }

  private func object(_ request: RecordedRequest, _ faults: [Fault]) -> FakeAnswer {
    guard let key = request.key else { return error(404, "NoSuchKey", request) }
    let versions = state.objects.versions[key] ?? []
    var version = versions.first
    if let id = request.query["versionId"] {
      if state.settings.deniesVersions { return error(403, "AccessDenied", request) }
      version = versions.first { $0.id == id }
      if version == nil { return error(404, "NoSuchVersion", request) }
    }
    if let version, version.object == nil {
      var answer = error(
        request.query["versionId"] == nil ? 404 : 405,
        request.query["versionId"] == nil ? "NoSuchKey" : "MethodNotAllowed",
        request)
      answer.fields["x-amz-delete-marker"] = "true"
      return answer
    }
    guard let object = version?.object ?? state.objects[key] else { return error(404, "NoSuchKey", request) }
    var ignoresRange = false
    var ignoresMatch = false
    var ignoresNoneMatch = false
    for fault in faults {
      switch fault {
      case .ignoreRange: ignoresRange = true
      case .ignoreIfMatch: ignoresMatch = true
      case .ignoreIfNoneMatch: ignoresNoneMatch = true
      default: break
      }
    }
    if !ignoresMatch, let tags = request.fields["if-match"], !covers(tags, object.etag) {
      return error(412, "PreconditionFailed", request)
    }
    if !ignoresNoneMatch, isUnchanged(request, object) {
      return FakeAnswer(304, fields: state.settings.describesNotModified ? validators(object) : Fields())
    }
    var answer = FakeAnswer(200, fields: describing(object))
    if let version { answer.fields["x-amz-version-id"] = version.id }
    answer.body = object.body
    answer.range = 0..<object.body.size
    func tellChecksums() {
      guard request.fields["x-amz-checksum-mode"]?.uppercased() == "ENABLED" else { return }
      answer.fields.all += object.fields.all.filter { $0.name.lowercased().hasPrefix("x-amz-checksum-") }
    }
    guard !ignoresRange, let text = request.fields["range"], let range = byteRange(text, size: object.body.size) else {
      tellChecksums()
      return answer
    }
    if state.settings.tellsChecksumsWithParts { tellChecksums() }
    guard !range.isEmpty else {
      var failure = error(416, "InvalidRange", request)
      failure.fields["Content-Range"] = "bytes */\(object.body.size)"
      return failure
    }
    answer.status = 206
    for case .partsAsWhole in faults { answer.status = 200 }
    answer.range = range
    answer.fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.body.size)"
    return answer
  }

  private func isUnchanged(_ request: RecordedRequest, _ object: FakeObject) -> Bool {
    if let tags = request.fields["if-none-match"] { return covers(tags, object.etag) }
    guard let since = request.fields["if-modified-since"].flatMap({ Timestamp(httpDate: $0) }),
      let modified = object.modified
    else { return false }
    return modified <= since.seconds
  }

  private func covers(_ tags: String, _ etag: String?) -> Bool {
    guard let etag else { return false }
    return tags.split(separator: ",").contains { tag in
      let tag = tag.drop { $0 == " " }
      return tag == "*" || tag == etag || "\"\(tag)\"" == etag
    }
  }

  private func validators(_ object: FakeObject) -> Fields {
    var fields = Fields()
    if let etag = object.etag { fields["ETag"] = etag }
    if let modified = object.modified { fields["Last-Modified"] = Timestamp(seconds: modified).httpDate }
    return fields
  }

  private func describing(_ object: FakeObject) -> Fields {
    var fields = validators(object)
    fields["Accept-Ranges"] = "bytes"
    if object.fields["content-type"] == nil { fields["Content-Type"] = "binary/octet-stream" }
    if let storageClass = object.storageClass { fields["x-amz-storage-class"] = storageClass }
    fields.all += object.fields.all.filter { !$0.name.lowercased().hasPrefix("x-amz-checksum-") }
    return fields
  }

  /// One range (RFC 9110 §14.1.2); empty when it can't be satisfied, nil when it is to be ignored.
  private func byteRange(_ text: String, size: Int64) -> Range<Int64>? {
    guard text.hasPrefix("bytes="), !text.contains(",") else { return nil }
    let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (let first?, let last?) where first <= last: return first < size ? first..<min(last + 1, size) : 0..<0
    case (let first?, nil) where ends[1].isEmpty: return first < size ? first..<size : 0..<0
    case (nil, let count?) where ends[0].isEmpty: return max(0, size - count)..<size
    default: return nil
    }
  }

  private func error(_ status: Int, _ code: String?, _ request: RecordedRequest, retryAfter: String? = nil)
    -> FakeAnswer
  {
    var fields = Fields([("Content-Type", "application/xml")])
    if let retryAfter { fields["Retry-After"] = retryAfter }
    guard let code, request.method != "HEAD" else { return FakeAnswer(status, fields: fields) }
    let body = """
      <?xml version="1.0" encoding="UTF-8"?>
      <Error><Code>\(code)</Code><Message>\(code), said the scripted server</Message>\
      <RequestId>REQUEST\(request.number)</RequestId><HostId>scripted</HostId></Error>
      """
    return FakeAnswer(status, fields: fields, Array(body.utf8))
  }
}

extension FakeS3.Settings {
  /// Seconds since 1970 by the server's clock.
  var now: Int64 { SystemClock().wall().seconds + clockAhead }
}

extension S3Address {
  /// The bucket a recorded request names.
  static func bucket(of request: RecordedRequest, expecting name: String) -> String {
    if let host = request.fields["host"], host.hasPrefix(name + ".") { return name }
    let path = Array(request.target.utf8).prefix { $0 != 0x3F }.dropFirst()
    return String(decoding: percentDecoded(path.prefix { $0 != 0x2F }, form: false), as: UTF8.self)
  }
}
