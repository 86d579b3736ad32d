// ListObjectsV2, or ListObjects where a server has no other: one page of keys.
import MirrorHTTP
import MirrorPlatform
public import MirrorStore

extension S3Store {
  public func list(_ request: ListRequest) async throws(StoreError) -> ListPage {
    if request.ofVersions { return try await versions(request) }
    var question = question("ListObjectsV2", .list, key: nil, deadline: request.deadline)
    if site.endpoint.isDirectory, !request.prefix.isDirectory || request.startAfter != nil {
      throw question.fault(.invalidRequest, "a directory bucket lists directories only, from their beginning")
    }
    question.subject += "/\(request.prefix)"
    question.listed = request.prefix
    let byMarker = traits.lacks(.listVersion2)
    // Without the encoding XML could not carry every key.
    question.query = [("encoding-type", Array("url".utf8))]
    if !byMarker { question.query.append(("list-type", Array("2".utf8))) }
    question.query.append(("max-keys", Array("\(ListRequest.maximumKeys)".utf8)))
    question.query.append(("prefix", request.prefix.bytes))
    if request.delimited { question.query.append(("delimiter", Array("/".utf8))) }
    if byMarker {
      let marker = request.continuation.flatMap { ListingMarker.key($0) } ?? request.startAfter
      if let marker { question.query.append(("marker", marker.bytes)) }
    } else {
      if let key = request.startAfter { question.query.append(("start-after", key.bytes)) }
      if let token = request.continuation { question.query.append(("continuation-token", Array(token.utf8))) }
    }

    let reader = ListingReader(onNext: request.onNext)
    let head = try await ask(question, reader: reader)
    switch reader.finish() {
    case .malformed(let message): throw question.malformed(message, head)
    case .error(let document): throw question.late(document, head)
    case .page(var page, let unsized, let isOld):
      if isOld, !byMarker {
        note(.listVersion2)
        // It went by neither of these.
        if request.startAfter != nil || request.continuation != nil {
          try await Allowance.current?.again()
          return try await list(request)
        }
      }
      guard page.advances(on: request) else {
        throw question.malformed("the page leads back to where it began, so the listing would never end", head)
      }
      if reader.isEncoded { traits.contradict(.encodedKeys) } else if !page.objects.isEmpty { note(.encodedKeys) }
      if !page.isInOrder { note(.order) }
      classes.learn(page.objects)
      for index in unsized { page.objects[index] = try await sized(page.objects[index], request) }
      return page
    }
  }

  /// Some server left out a size; zero would be a lie, so the object is asked itself.
  private func sized(_ object: ListedObject, _ request: ListRequest) async throws(StoreError) -> ListedObject {
    note(.sizes)
    let allowance = try await Allowance.current?.another(.head, operation: "HeadObject")
    defer { allowance?.end() }
    let asked = await Allowance.$current.withValue(allowance) { () async -> Result<ObjectMetadata, StoreError> in
      let question = HeadRequest(key: object.key, deadline: request.deadline)
      do throws(StoreError) { return .success(try await head(question)) } catch { return .failure(error) }
    }
    switch asked {
    case .success(let metadata):
      return ListedObject(key: object.key, revision: metadata.revision, storageClass: object.storageClass)
    case .failure(let error):
      if error.isOriginFailure || error.code == .cancelled { throw error }
      return object
    }
  }
}

extension ListPage {
  /// Whether the next page would be another one: a server that goes round in a circle is asked, and paid, for ever.
  fileprivate func advances(on request: ListRequest) -> Bool {
    if let next, next == request.continuation { return false }
    guard let after = request.startAfter, request.continuation == nil, next != nil else { return true }
    // Some servers begin a little earlier than they were asked to.
    return [objects.last?.key, prefixes.last].compactMap(\.self).max().map { $0 > after } ?? true
  }
}

extension ObjectKey {
  /// All keys, or those below one directory.
  fileprivate var isDirectory: Bool { bytes.isEmpty || bytes.last == 0x2F }
}
