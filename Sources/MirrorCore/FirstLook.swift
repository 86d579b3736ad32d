// A look at a name whose bytes are dear: HEAD tells what is there, and the bytes are bought when somebody reads them.
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  func look(_ question: Question) async throws(StoreError) {
    let requested = clock.now()
    let version = configuration.isPast ? knownVersion(question.id) : nil
    let request = HeadRequest(
      key: question.key, version: version, deadline: requested + Self.deadline,
      purpose: Errand.purpose(state.withLock { $0.namespace.purpose(of: question, requested) }))
    let metadata: ObjectMetadata
    do throws(StoreError) { metadata = try await store.head(request) } catch {
      if error.code == .notFound { return try await missing(question, requested: requested) }
      throw error
    }
    if !metadata.revision.isIdentified, isIdentified(question.id) { throw foreign("HeadObject", question.key) }
    seen(question.id, metadata, requested: requested, hasBody: false)
  }

  /// A HEAD for what the metadata say. Who may not ask for the object sees it as if they said nothing.
  func describe(_ question: Question) async throws(StoreError) {
    do throws(StoreError) { try await look(question) } catch {
      guard error.code == .accessDenied || error.code == .invalidRequest || error.code == .archived else { throw error }
      change { state, _ in
        guard let slot = state.namespace.fileSlot(of: question.id) else { return }
        state.namespace.noteDescribed(question.id.directory, slot, nil)
      }
    }
  }

  private func knownVersion(_ id: NameID) -> String? {
    state.withLock { state in
      state.namespace.fileSlot(of: id).flatMap { state.namespace.revision(id.directory, $0).version }
    }
  }

  /// Somebody else's answer.
  func foreign(_ operation: String, _ key: ObjectKey) -> StoreError {
    StoreError(
      .malformedResponse, operation: operation, subject: "\(key)",
      message: "an answer came without ETag and date, though the object has them; is something in between?")
  }
}
