// Fetching small files before a reader who walks in order asks for them.
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  /// A file is read from its beginning: the contents worth fetching now.
  func filesAhead(of id: FileID, _ state: inout State) -> [MirroredFile] {
    let entry = state.namespace.directories[Int(id.directory)].table[Int(id.slot)]
    let size = entry.revision.size
    guard size <= configuration.partSize, !entry.cached || state.walks.isAhead(id) else { return [] }
    let (now, namespace) = (clock.now(), state.namespace)
    let wanted = state.walks.read(WalkPolicy.Candidate(file: id, size: size)) {
      namespace.nextToFetch(after: $0, limit: configuration.partSize, now)
    }
    return wanted.map { content($0.file, &state) }
  }

  func fetchAhead(_ file: MirroredFile) async {
    guard await file.bring(0..<file.revision.size) != nil else { return }
    state.withLock { $0.walks.stop() }
  }
}

extension Namespace {
  /// The next file in the order of listings that is not here, is small, and whose revision is current; in the directory
  /// or in those beside it that follow.
  fileprivate func nextToFetch(after file: FileID, limit: Int64, _ now: Instant) -> WalkPolicy.Candidate? {
    var (directory, slot) = (Int(file.directory), Int(file.slot) + 1)
    for _ in 0..<Self.furthest {
      guard slot < directories[directory].table.count else {
        guard let next = directoryBeside(directory) else { return nil }
        (directory, slot) = (next, 0)
        continue
      }
      let entry = directories[directory].table[slot]
      let size = entry.revision.size
      if entry.kind == .file, !entry.cached, size > 0, size <= limit, isFresh(directory, slot, now) {
        return WalkPolicy.Candidate(file: FileID(directory, slot), size: size)
      }
      slot += 1
    }
    return nil
  }

  /// So many names are looked at for the next one.
  private static let furthest = 256

  /// The next directory in the same parent.
  private func directoryBeside(_ directory: Int) -> Int? {
    guard directory != 0 else { return nil }
    let siblings = directories[directories[directory].parent].table
    for slot in (directories[directory].slotInParent + 1)..<max(directories[directory].slotInParent + 1, siblings.count)
    where siblings[slot].kind == .directory {
      return Int(siblings[slot].link)
    }
    return nil
  }
}
