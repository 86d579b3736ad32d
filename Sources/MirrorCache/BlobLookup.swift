// From a key and a revision to its copy: the one in memory, or the one that the row and the file make together.
import Glibc
import MirrorPlatform
import MirrorStore

extension CatalogueSession {
  /// The copy of exactly this revision, if `take` does. A row whose file is missing, short or not ours to read is
  /// dropped.
  func blob(_ key: ObjectKey, _ revision: ObjectRevision, take: (Blob) -> Bool) -> Blob? {
    let rows = read { (store) throws(SQLiteError) in try store.blobRows(key) } ?? []
    for row in rows where row.metadata.revision.sameBytes(as: revision) {
      if let blob = shelf.loaded(row.id) ?? open(row), take(blob) { return blob }
    }
    if let blob = shelf.unwritten(key), blob.revision.sameBytes(as: revision), take(blob) { return blob }
    // While the disk takes no rows, the copies made since are known to memory only.
    guard isBehind else { return nil }
    return shelf.allLoaded.first { $0.key == key && $0.revision.sameBytes(as: revision) && take($0) }
  }

  /// The copy of a row that no blob in memory stands for.
  func open(_ row: BlobRow) -> Blob? {
    let attributes: FileAttributes
    do throws(Errno) { attributes = try shelf.file(row.id).attributes() } catch {
      // Without descriptors or memory nothing is known of the file.
      let isShortage = [EMFILE, ENFILE, ENOMEM].contains(error.rawValue)
      if !isShortage { drop(row, because: "\(error)") }
      return nil
    }
    guard attributes.kind == .file, attributes.size == row.metadata.revision.size, let blocks = row.blocks else {
      drop(row, because: "its size is \(attributes.size), not \(row.metadata.revision.size)")
      return nil
    }
    let isTrusted = row.era == shelf.era && row.written == attributes.modifiedNanoseconds
    let blob = Blob(row, blocks: blocks, isTrusted: isTrusted, shelf: shelf)
    let bytes = blob.cachedBytes
    if bytes != row.bytes { shelf.budget.change(from: row.bytes, to: bytes) }
    shelf.add(blob)
    if !isTrusted && row.metadata.revision.size <= Blob.checkedWhole { blob.checkAll() }
    return blob
  }

  private func drop(_ row: BlobRow, because reason: String) {
    shelf.log.limited(.warning, key: "dropped copy", "\(row.key): its copy can't be used and is dropped: \(reason)")
    deleteFile(row.id, bytes: row.bytes)
    write(.removeBlob(row.id))
  }
}
