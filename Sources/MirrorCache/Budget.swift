// How much may still be written: the limit of the cache and the space that the disk keeps for others.
import MirrorPlatform
import Synchronization

/// Counts of what is stored and promised. Never waits; only arithmetic under its lock.
final class Budget: Sendable {
  struct Totals: Equatable, Sendable {
    var objects = 0
    var bytes: Int64 = 0
    /// On disk.
    var charged: Int64 = 0
  }
  private struct State {
    var totals: Totals
    var reserved: Int64 = 0
    var retained = Totals()
    var limit: Int64
    var minimumFree: Int64
  }
  private let state: Mutex<State>
  private let free: @Sendable () -> Int64?

  /// `free`: bytes that the disk has left, nil where it can't tell.
  init(_ totals: Totals, limit: Int64, minimumFree: Int64, free: @escaping @Sendable () -> Int64?) {
    state = Mutex(State(totals: totals, limit: limit, minimumFree: minimumFree))
    self.free = free
  }

  var limit: Int64 { state.withLock { $0.limit } }

  func set(limit: Int64, minimumFree: Int64) {
    state.withLock {
      $0.limit = limit
      $0.minimumFree = minimumFree
    }
  }

  /// Promises room. With 0 bytes: whether what is stored fits.
  func reserve(_ bytes: Int64) -> Bool {
    let free = state.withLock { $0.minimumFree } > 0 ? self.free() : nil
    return state.withLock { state in
      guard state.totals.charged + state.reserved + bytes <= state.limit else { return false }
      if let free, free - state.reserved - bytes < state.minimumFree { return false }
      state.reserved += bytes
      return true
    }
  }

  func giveBack(_ bytes: Int64) { state.withLock { $0.reserved = max(0, $0.reserved - bytes) } }

  func addObject(bytes: Int64 = 0) {
    state.withLock {
      $0.totals.objects += 1
      $0.totals.bytes += bytes
      $0.totals.charged += diskBytes(bytes)
    }
  }

  func removeObject(bytes: Int64) {
    state.withLock {
      $0.totals.objects -= 1
      $0.totals.bytes -= bytes
      $0.totals.charged -= diskBytes(bytes)
    }
  }

  /// An object that had `old` bytes has `new` ones; those that were added come out of what was promised.
  func change(from old: Int64, to new: Int64) {
    state.withLock {
      $0.totals.bytes += new - old
      $0.totals.charged += diskBytes(new) - diskBytes(old)
      if new > old { $0.reserved = max(0, $0.reserved - (new - old)) }
    }
  }

  /// An object that is retained now, or no longer (`objects` -1), or has other bytes while it is.
  func retain(objects: Int, from old: Int64, to new: Int64) {
    state.withLock {
      $0.retained.objects += objects
      $0.retained.bytes += new - old
      $0.retained.charged += diskBytes(new) - diskBytes(old)
    }
  }

  var retained: Totals { state.withLock { $0.retained } }

  func replace(_ totals: Totals) { state.withLock { $0.totals = totals } }
  var totals: Totals { state.withLock { $0.totals } }
  var reserved: Int64 { state.withLock { $0.reserved } }
}
