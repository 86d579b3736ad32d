// After opening: files that no row knows, and copies that were superseded, are deleted in the background.
import MirrorPlatform
import MirrorStore

/// One walk over the blob directories, each looked up in one question to the catalogue.
struct Sweep: Sendable {
  let shelf: BlobShelf

  /// Never touches what was made since the cache was opened.
  func start() {
    let shelf = shelf
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
    }
  }
}

extension CatalogueSession {
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
