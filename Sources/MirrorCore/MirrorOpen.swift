// OPEN: whether a file can be given out whole, and what is done so that it can.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  public func open(_ node: NodeID, reply: @escaping @Sendable (OpenAnswer) -> Void) {
    switch content(of: node, fromStart: true) {
    case .failure(let error): reply(.failed(error))
    case .success((let file, let ahead)):
      if let answer = file.whole() { reply(answer) } else { Task { reply(await file.open()) } }
      fetch(ahead)
    }
  }
}

extension MirroredFile {
  /// The whole content, where it is here and proven.
  func whole() -> OpenAnswer? {
    // The last part of several may prove them all wrong.
    state.withLock { state in
      state.store == .ready && (isWholeOnly || state.runs.isEmpty) ? state.blob : nil
    }.flatMap(OpenAnswer.init(whole:))
  }

  /// Waits for a small file, as its readers would have to; of a large one only until it is known what is here.
  func open() async -> OpenAnswer {
    if revision.size == 0 { return .byReading }
    let isSmall = revision.size <= sources.partSize
    // That there is nothing to read at the beginning is known as soon as the copy is.
    switch await bring(0..<(isSmall ? revision.size : 0)) {
    case nil: break
    case .noSpace?: return .byReading
    case let error?: return .failed(error)
    }
    if let answer = whole() { return answer }
    // After a crash all of it must be checked, which takes a while: this one reads, a later one may have it whole.
    if let blob = state.withLock({ $0.blob }), blob.isComplete { sources.check(blob) }
    return .byReading
  }
}

extension OpenAnswer {
  /// A copy as a whole; nil unless every byte of it is here and proven.
  init?(whole blob: Blob) {
    guard blob.isWhole, blob.revision.size > 0, let lease = BlobLease(blob), let file = try? blob.file() else {
      return nil
    }
    self = .whole(file, lease: lease)
  }
}

/// Keeps a copy from eviction for as long as it is held.
private final class BlobLease: Sendable {
  private let blob: Blob

  init?(_ blob: Blob) {
    guard blob.retain() else { return nil }
    self.blob = blob
  }
  deinit { blob.release() }
}
