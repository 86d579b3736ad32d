// Open files by blob: as many as there are in use, not as many as there are blobs.
import MirrorPlatform
import Synchronization

/// The files used last, open. A file that falls out is closed when its last reader lets go.
final class DescriptorPool: Sendable {
  private struct Entry {
    let file: File
    var used: UInt64
  }
  private struct State {
    var files: [Int64: Entry] = [:]
    var time: UInt64 = 0
  }
  private let state = Mutex(State())
  private let capacity: Int

  init(capacity: Int = 256) { self.capacity = capacity }

  func file(_ id: Int64) -> File? {
    state.withLock { state in
      state.time += 1
      guard let index = state.files.index(forKey: id) else { return nil }
      state.files.values[index].used = state.time
      return state.files.values[index].file
    }
  }

  /// Keeps a file, or answers the one that another thread has put here first.
  func insert(_ file: File, _ id: Int64) -> File {
    let (kept, dropped) = state.withLock { state -> (File, File?) in
      state.time += 1
      if let found = state.files[id] { return (found.file, file) }
      state.files[id] = Entry(file: file, used: state.time)
      guard state.files.count > capacity, let oldest = state.files.min(by: { $0.value.used < $1.value.used }) else {
        return (file, nil)
      }
      return (file, state.files.removeValue(forKey: oldest.key)?.file)
    }
    // Closed here, not under the lock.
    withExtendedLifetime(dropped) {}
    return kept
  }

  func remove(_ id: Int64) {
    let dropped = state.withLock { $0.files.removeValue(forKey: id) }
    withExtendedLifetime(dropped) {}
  }

  func removeAll() {
    let dropped = state.withLock { state in
      defer { state.files = [:] }
      return state.files
    }
    withExtendedLifetime(dropped) {}
  }

  var count: Int { state.withLock { $0.files.count } }
}
