// A run of bytes into a blob: written as they come, digested as they pass, counted block by block.
public import MirrorPlatform
import MirrorStore
import Synchronization

/// Writes the bytes `[start, end)` of an object in order. Ends with `finish` or with its release.
///
/// Sendable because `write` and `finish` are called by one thread at a time, and `position`, which others read, is
/// atomic.
public final class BlobWriter: @unchecked Sendable {
  private let blob: Blob
  private let run: BlobRun
  private let digest = BlockDigest()
  /// The block at `position` was whole from its first byte on.
  private var isWhole: Bool
  /// The block is there already: its bytes need not be written twice.
  private var isPresent: Bool
  private var stored: Int64 = 0
  private var failure: Errno?
  private var hasEnded = false

  init(_ blob: Blob, _ run: BlobRun) {
    self.blob = blob
    self.run = run
    isWhole = run.start % Blob.blockSize == 0
    isPresent = false
    beginBlock()
  }
  deinit { finish() }

  /// Bytes before this one are received and can be read.
  public var position: Int64 { run.position.load(ordering: .acquiring) }

  /// Takes the next bytes; those past the end of the run are dropped.
  ///
  /// - Throws: write(2)'s error, now and ever after: ENOSPC, EDQUOT, EIO, ENOENT when the cache was deleted.
  public func write(_ bytes: RawSpan) throws(Errno) {
    if let failure { throw failure }
    guard !hasEnded else { return }
    do throws(Errno) {
      try unsafe bytes.withUnsafeBytes { (buffer) throws(Errno) in
        let position = run.position.load(ordering: .relaxed)
        let length = Int(min(Int64(buffer.count), max(0, run.end - position)))
        guard length > 0 else { return }
        try unsafe write(UnsafeRawBufferPointer(rebasing: buffer[..<length]), at: position, to: blob.file())
      }
    } catch {
      failure = error
      throw error
    }
  }

  /// Ends the run: a block that is not full is dropped, and the blob's row is queued. The bytes that this run stored,
  /// blocks that others had stored before excluded.
  @discardableResult
  public func finish() -> Int64 {
    if hasEnded { return stored }
    hasEnded = true
    blob.end(run)
    return stored
  }

  private func write(_ buffer: UnsafeRawBufferPointer, at position: Int64, to file: File) throws(Errno) {
    var done = 0
    while done < buffer.count {
      let offset = position + Int64(done)
      let block = blob.geometry.block(at: offset)
      let blockEnd = blob.geometry.end(of: block)
      let count = min(buffer.count - done, Int(blockEnd - offset))
      let piece = unsafe UnsafeRawBufferPointer(rebasing: buffer[done..<done + count])
      if !isPresent {
        try unsafe file.write(piece, at: offset)
        unsafe digest.update(piece)
      }
      done += count
      run.position.store(offset + Int64(count), ordering: .releasing)
      if offset + Int64(count) == blockEnd { endBlock(block) }
    }
  }

  private func endBlock(_ block: Int) {
    if isWhole && !isPresent && blob.store(block, digest: digest.value) {
      stored += blob.geometry.end(of: block) - blob.geometry.start(of: block)
    }
    isWhole = true
    beginBlock()
  }

  private func beginBlock() {
    digest.reset()
    let position = run.position.load(ordering: .relaxed)
    isPresent = position < run.end && isWhole && blob.holds(blob.geometry.block(at: position))
  }
}
