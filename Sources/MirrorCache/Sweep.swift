// After opening: files that no row knows, copies that were superseded, and rows whose files an unclean end took along are
// deleted in the background.
import MirrorPlatform
import MirrorStore

/// One walk over the blob directories, each looked up in one question to the catalogue.
struct Sweep: Sendable {
  let shelf: BlobShelf
  let isUnswept: Bool

  /// Never touches what was made since the cache was opened.
  func start() {
    let (shelf, isUnswept) = (shelf, isUnswept)
    shelf.syncer.submit {
      guard let directories = try? FileSystem.list(shelf.path) else { return }
      for name in directories {
        let path = shelf.path + "/" + name
        let ids = ((try? FileSystem.list(path)) ?? []).compactMap { Int64($0) }.filter { id in
          id > 0 && id < shelf.firstID && SourceDirectory.blobPath(id, under: shelf.path) == "\(path)/\(id)"
        }
        guard !ids.isEmpty else { continue }
        let posted = shelf.thread.post(.job { $0.sweep(ids) }, within: CatalogueSession.patience)
        if !posted { return }
      }
      if isUnswept { shelf.thread.post(.job { $0.sweepRows(after: 0) }, within: CatalogueSession.patience) }
    }
  }
}

extension CatalogueSession {
  /// So many rows are looked at in one go, so that questions need not wait.
  private static let rowsAtOnce = 500

  /// Files go before their rows: a process that dies in between leaves rows that only take room.
  func sweepRows(after last: Int64) {
    guard !isClosed, store != nil else { return }
    let rows =
      read { (store) throws(SQLiteError) in
        try store.blobs(after: last, before: shelf.firstID, limit: Self.rowsAtOnce)
      } ?? []
    for row in rows where shelf.loaded(row.id) == nil {
      do throws(Errno) { _ = try FileSystem.attributes(SourceDirectory.blobPath(row.id, under: shelf.path)) } catch {
        guard error == .noEntry else { continue }
        deleteFile(row.id, bytes: row.bytes)
        write(.removeBlob(row.id))
      }
    }
    guard rows.count == Self.rowsAtOnce, let end = rows.last?.id else { return write(.swept) }
    shelf.thread.post(.job { $0.sweepRows(after: end) })
  }

  func sweep(_ ids: [Int64]) {
    guard !isClosed, store != nil else { return }
    for id in ids where shelf.loaded(id) == nil {
      switch read({ (store) throws(SQLiteError) in try store.rowState(id) }) {
      case nil, .current: break
      case .some(.none): shelf.removeFile(id)
      case .superseded(let bytes):
        deleteFile(id, bytes: bytes)
        write(.removeBlob(id))
      }
    }
  }
}
