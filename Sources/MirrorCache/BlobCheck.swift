// After an unclean end: a block counts once its bytes have the digest that its row remembers.
import MirrorPlatform
import Synchronization

extension Blob {
  /// Reads a block and compares its digest, and drops it if they differ. False when it can't be used (now).
  func check(_ block: Int) -> Bool {
    let expected = state.withLock { $0.digests.isEmpty ? nil : $0.digests[block] }
    let range = geometry.start(of: block)..<geometry.end(of: block)
    var isGood = false
    if let expected {
      do throws(Errno) {
        let bytes = try file().read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        isGood = Int64(bytes.count) == range.upperBound - range.lowerBound && stableHash(bytes) == expected
      } catch {
        // No descriptor to be had says nothing of the block.
        guard error == .inputOutput else { return false }
      }
    }
    let change = state.withLock { state -> Change in
      let before = state.bytes
      _ = state.settle(block, isGood: isGood)
      if state.unverified == nil { state.era = shelf.era }
      updateReady(state)
      return Change(from: before, to: state.bytes, isRetained: state.retains > 0)
    }
    if change.from != change.to {
      count(change)
      shelf.log.warning(
        "\(key): the copy of bytes \(range.lowerBound) to \(range.upperBound - 1) is damaged and dropped")
    }
    saveSoon()
    return isGood
  }

  /// Reads and checks every block that needs it; those that are damaged are dropped.
  public func checkAll() {
    for block in 0..<geometry.count where state.withLock({ $0.unverified?.contains(block) ?? false }) {
      _ = check(block)
    }
  }

  func saveSoon() {
    let save = state.withLock { state in
      guard state.isUnsaved, !state.isQueued, !state.isGone else { return false }
      state.isQueued = true
      return true
    }
    if save { shelf.save(self) }
  }
}
