// The reference: what directories may be, and what they may show.
import MirrorPlatform
import MirrorStore
import TestSupport

extension ModelJudge {
  // MARK: Directories

  mutating func foundDirectory(
    _ operation: ModelOperation, _ now: Instant, _ history: BucketHistory
  ) throws(ModelVerdict) {
    let parent = operation.key.lastIndex(of: 0x2F).map { Array(operation.key[..<$0]) } ?? []
    let since = listedSince[parent] ?? .distantPast
    guard history.hadDirectory(operation.key, from: since, to: now) else {
      throw ModelVerdict(message: "a directory, though nothing lay below it since its parent was listed")
    }
    promised[operation.key] = nil
    shown[operation.key] = nil
  }

  // MARK: Listings

  /// What a directory showed; names of directories without their `/`.
  mutating func listed(
    files: Set<[UInt8]>, directories: Set<[UInt8]>, _ operation: ModelOperation, _ now: Instant,
    _ history: BucketHistory, _ recent: [Asked]
  ) throws(ModelVerdict) {
    let bound = bound(operation, listingWindow(operation.key), recent)
    let isStale = mayBeStale(operation, now, recent)
    let since = isStale ? Instant.distantPast : bound
    let base = operation.key.isEmpty ? [] : operation.key + [0x2F]
    for name in files where !history.hadFile(base + name, from: since, to: now) {
      throw ModelVerdict(message: "lists \(ModelStep.look(name)), which was no file within the window")
    }
    for name in directories where !history.hadDirectory(base + name, from: since, to: now) {
      throw ModelVerdict(message: "lists \(ModelStep.look(name)), which was no directory within the window")
    }
    if isStale { return }
    for key in history.keys where key.starts(with: base) && key.count > base.count {
      let rest = key[base.count...]
      guard let slash = rest.firstIndex(of: 0x2F) else {
        guard Self.isName(rest), !files.contains(Array(rest)), !directories.contains(Array(rest)) else { continue }
        if history.alwaysHad(key, from: bound, to: now) {
          throw ModelVerdict(message: "\(ModelStep.look(key)) is not listed, though it was there all the time")
        }
        continue
      }
      let name = rest[..<slash]
      guard Self.isName(name), !directories.contains(Array(name)) else { continue }
      // Pages are shown as they come, and a file's key comes before those of the directory that hides it.
      if files.contains(Array(name)) { continue }
      if history.alwaysHad(key, from: bound, to: now) {
        throw ModelVerdict(message: "the directory of \(ModelStep.look(key)) is not listed")
      }
    }
    listedSince[operation.key] = bound
  }

  static func isName(_ name: some Collection<UInt8>) -> Bool {
    !name.isEmpty && name.count <= 255 && !name.contains(0) && !name.elementsEqual([0x2E])
      && !name.elementsEqual([0x2E, 0x2E])
  }
}
