// Which version the requests for a file name: none while it is current, its own once it has been replaced.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Whether versions may be asked for by their ids. Safe to share.
final class VersionAccess: Sendable {
  /// The mount shows the past: what is current is of no interest.
  let always: Bool
  private let log: Log
  private struct State {
    /// An answer named one: the bucket keeps them.
    var wereSeen = false
    var mayRead = true
    var mayList = true
  }
  private let state = Mutex(State())

  init(always: Bool, log: Log) {
    self.always = always
    self.log = log
  }

  var isAllowed: Bool { state.withLock { $0.mayRead } }
  /// Whether it is worth asking which versions there are of a key.
  var mayList: Bool { state.withLock { $0.wereSeen && $0.mayList && $0.mayRead } }

  func noteSeen() { state.withLock { $0.wereSeen = true } }

  /// An answer to a request by version: whether it says that none will be answered, which is then remembered.
  func isRefusal(_ error: StoreError) -> Bool {
    guard !always, error.code == .accessDenied || error.code == .invalidRequest else { return false }
    state.withLock { $0.mayRead = false }
    tell("read by their ids (s3:GetObjectVersion)", error)
    return true
  }

  /// An answer to a listing of versions.
  func noteListing(_ error: StoreError) {
    guard error.code == .accessDenied || error.code == .invalidRequest || error.code == .unversioned else { return }
    state.withLock { $0.mayList = false }
    tell("listed (s3:ListBucketVersions)", error)
  }

  private func tell(_ what: String, _ error: StoreError) {
    log.once(
      .notice, key: "versions \(what)",
      "versions may not be \(what), so what is not cached of a replaced object may be lost to those who have it open: \(error)"
    )
  }
}

extension MirroredFile {
  /// Nil: what is current is asked for.
  var askedVersion: String? {
    guard sources.versions.isAllowed else { return nil }
    return state.withLock { sources.versions.always || $0.isReplaced ? $0.version : nil }
  }

  var version: String? { state.withLock { $0.version } }

  /// An answer of this revision named its version.
  func noteVersion(_ version: String?) {
    guard let version else { return }
    sources.versions.noteSeen()
    state.withLock { $0.version = version }
  }

  /// The answer to a request for what is current was of another revision, or that there is none. Whether this one can
  /// still be had.
  func turnsToVersion() async -> Bool {
    guard sources.versions.isAllowed else { return false }
    if version == nil { noteVersion(await search().value) }
    guard version != nil else { return false }
    let isNews = state.withLock { state in
      defer { state.isReplaced = true }
      return !state.isReplaced
    }
    if isNews {
      owner?.revisionGone(self)
      // Only now: the name's next answer may say that it is current again.
      wasGone.store(true, ordering: .relaxed)
    }
    return true
  }

  /// Looks for the version that has these bytes, once: no answer has named it yet.
  private func search() -> Task<String?, Never> {
    state.withLock { state in
      if let search = state.search { return search }
      let search = Task { await listedVersion() }
      state.search = search
      return search
    }
  }

  /// By one page of the key's versions, the newest of them.
  private func listedVersion() async -> String? {
    guard sources.versions.mayList, revision.isIdentified else { return nil }
    var request = ListRequest(prefix: key, delimited: false, deadline: sources.clock.now() + BucketMirror.deadline)
    request.ofVersions = true
    do throws(StoreError) {
      let own = try await sources.store.list(request).versions.filter { $0.object.key == key && !$0.isDeleteMarker }
      return own.first { $0.object.revision.sameBytes(as: revision) }?.object.revision.version
    } catch {
      sources.versions.noteListing(error)
      return nil
    }
  }
}
