// What a change means for the copies: superseded ones are let go, now or when nothing keeps them.
import MirrorPlatform
import MirrorStore

extension CatalogueSession {
  func learn(_ change: CatalogueChange, _ store: CatalogueStore) throws(SQLiteError) {
    switch change {
    case .object(let key, let revision, let storageClass, let time):
      guard try store.put(key, revision, storageClass, time) else { return }
      for row in try store.blobRows(key) where !row.metadata.revision.sameBytes(as: revision) {
        try letGo(row.id, row.bytes, store)
      }
    case .said(let key, let text): try store.note(key, said: text)
    case .described(let key, let text): try store.note(key, described: text)
    case .validated(let keys, let time): for key in keys { try store.validate(key, time) }
    case .removed(let key):
      try store.remove(key)
      for row in try store.blobRows(key) { try letGo(row.id, row.bytes, store) }
    case .directory(let key, let listed): try store.putDirectory(key, listed: listed)
    case .contents(let key, let names, let listed):
      for gone in try store.strangers(in: key, to: names) { try learn(gone, store) }
      try store.putDirectory(key, listed: listed)
    case .directoryRemoved(let key):
      try store.removeDirectory(key)
      for blob in try store.blobs(below: key) { try letGo(blob.id, blob.bytes, store) }
    case .hidden(let key, let reason): try store.putHidden(key, reason, seen: shelf.clock.wall())
    case .absent(let key, let until): try store.putAbsence(key, until, now: shelf.clock.wall())
    }
  }

  /// A copy of something superseded or gone: deleted now, or when nothing retains it.
  private func letGo(_ id: Int64, _ bytes: Int64, _ store: CatalogueStore) throws(SQLiteError) {
    if let blob = shelf.loaded(id) {
      guard blob.retire() else { return }
      deleteFile(id, bytes: blob.cachedBytes)
    } else {
      deleteFile(id, bytes: bytes)
    }
    try store.removeBlob(id)
  }

  func save(_ blob: Blob) {
    if blob.needsSync { return shelf.save(blob) }
    if let change = blob.takeUnsaved() { write(change) }
  }

  /// Deletes a blob that nothing keeps, if that is so.
  func discard(_ blob: Blob) {
    guard !isClosed, blob.goIfRetired() else { return }
    deleteFile(blob.id, bytes: blob.cachedBytes)
    write(.removeBlob(blob.id))
  }

  /// The blob goes, now or when nothing keeps it.
  func retire(_ blob: Blob) {
    guard !isClosed, !blob.isGone else { return }
    let isGone = blob.retire()
    if isGone { deleteFile(blob.id, bytes: blob.cachedBytes) }
    // A crash before it can go must not leave it behind as good.
    if isGone || blob.isDamaged { write(.removeBlob(blob.id)) }
  }

  /// Deletes what was retired, though something may still retain it: the cache closes.
  func discardRetired() {
    for blob in shelf.allLoaded where blob.goAtClose() {
      deleteFile(blob.id, bytes: blob.cachedBytes)
      write(.removeBlob(blob.id))
    }
  }

  /// Deletes a blob's file and counts it out, once.
  func deleteFile(_ id: Int64, bytes: Int64) {
    shelf.pool.remove(id)
    shelf.removeFile(id)
    if removed.insert(id).inserted { shelf.budget.removeObject(bytes: bytes) }
  }
}
