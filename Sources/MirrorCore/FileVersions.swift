// Which version the requests for a file name: none while it is current, its own once it has been replaced.
import MirrorPlatform
import MirrorStore
import Synchronization

/// Whether versions may be asked for by their ids. Safe to share.
final class VersionAccess: Sendable {
  /// The mount shows the past: what is current is of no interest.
  let always: Bool
  private let log: Log
  private let isRefused = Mutex(false)

  init(always: Bool, log: Log) {
    self.always = always
    self.log = log
  }

  var isAllowed: Bool { isRefused.withLock { !$0 } }

  /// An answer to a request by version: whether it says that none will be answered, which is then remembered.
  func isRefusal(_ error: StoreError) -> Bool {
    guard !always, error.code == .accessDenied || error.code == .invalidRequest else { return false }
    isRefused.withLock { $0 = true }
    log.once(
      .notice, key: "versions",
      "versions may not be read by their ids (s3:GetObjectVersion), so what is not cached of a replaced object is lost to those who have it open: \(error)"
    )
    return true
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
    state.withLock { $0.version = version }
  }

  /// The answer to a request for what is current was of another revision, or that there is none. Whether this one can
  /// still be had.
  func turnsToVersion() -> Bool {
    guard sources.versions.isAllowed, state.withLock({ $0.version != nil }) else { return false }
    let isNews = state.withLock { state in
      defer { state.isReplaced = true }
      return !state.isReplaced
    }
    if isNews { owner?.revisionGone(self) }
    return true
  }

  /// Its name leads to another revision, or to none.
  func supersede() {
    state.withLock { $0.isReplaced = true }
    retire()
  }
}
