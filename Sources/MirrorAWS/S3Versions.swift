// ListObjectVersions: one page of the versions of a bucket's objects, where the bucket keeps any.
import MirrorHTTP
import MirrorPlatform
import MirrorStore

extension S3Store {
  func versions(_ request: ListRequest) async throws(StoreError) -> ListPage {
    if !site.keepsVersions {
      try await checkVersioning(request.deadline)
      try await Allowance.current?.again()
    }
    var question = question("ListObjectVersions", .list, key: nil, deadline: request.deadline)
    question.subject += "/\(request.prefix)"
    question.listed = request.prefix
    question.query = [("versions", []), ("encoding-type", Array("url".utf8))]
    question.query.append(("max-keys", Array("\(ListRequest.maximumKeys)".utf8)))
    question.query.append(("prefix", request.prefix.bytes))
    if request.delimited { question.query.append(("delimiter", Array("/".utf8))) }
    let marker = request.continuation.map { VersionMarker($0) } ?? request.startAfter.map { VersionMarker(key: $0) }
    if let marker { question.query.append(("key-marker", marker.key.bytes)) }
    if let version = marker?.version { question.query.append(("version-id-marker", Array(version.utf8))) }

    let reader = VersionsReader()
    let head = try await ask(question, reader: reader)
    switch reader.finish() {
    case .malformed(let message): throw question.malformed(message, head)
    case .error(let document): throw question.late(document, head)
    case .page(let page):
      classes.learn(page.versions.map(\.object))
      return page
    }
  }

  /// GetBucketVersioning: a bucket that never kept versions lists its objects as if they had always been there.
  private func checkVersioning(_ deadline: Instant?) async throws(StoreError) {
    var question = question("GetBucketVersioning", .other, key: nil, deadline: deadline)
    question.query = [("versioning", [])]
    let reader = VersioningReader()
    do throws(StoreError) { _ = try await ask(question, reader: reader) } catch {
      switch error.code {
      case .accessDenied, .invalidRequest, .notFound:
        log.once(
          .warning, key: "versioning",
          "whether the bucket keeps versions can't be told (s3:GetBucketVersioning), it is taken to: \(error)")
        site.keepsVersions = true
        return
      default: throw error
      }
    }
    guard reader.isKept else {
      throw question.fault(
        .unversioned, "versioning was never switched on for this bucket, so nothing is known of its past")
    }
    site.keepsVersions = true
  }
}

/// Where a listing of versions goes on: after a version of a key, or after all of them.
struct VersionMarker: Hashable {
  let key: ObjectKey
  let version: String?

  init(key: ObjectKey, version: String? = nil) {
    self.key = key
    self.version = version
  }

  var token: String { percentEncoded(key.bytes, keepingSlash: true) + " " + (version ?? "") }

  init(_ token: String) {
    let parts = token.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    key = ObjectKey(percentDecoded(parts[0].utf8, form: false))
    version = parts.count > 1 && !parts[1].isEmpty ? String(parts[1]) : nil
  }
}

/// The answer of GetBucketVersioning (`<VersioningConfiguration><Status>`).
///
/// `@unchecked Sendable`: the transfer thread writes while the request runs, its caller reads after it ended.
final class VersioningReader: AnswerReader, XMLConsumer, @unchecked Sendable {
  private var reader: XMLReader?
  private var status = ""

  init() { reader = XMLReader(self) }

  /// What was kept before it was suspended is kept still.
  var isKept: Bool { status == "Enabled" || status == "Suspended" }

  func begin(_ head: HTTPHead) -> Bool { true }
  func receive(_ bytes: RawSpan) -> Bool { reader?.feed(bytes) ?? false }
  func opened(_ name: String, depth: Int) {}
  func closed(_ name: String, depth: Int, text: [UInt8]) {
    if name == "Status", depth == 2 { status = String(decoding: text, as: UTF8.self) }
  }
}
