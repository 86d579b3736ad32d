// What becomes stale when somebody tells that an object was written or deleted.
import MirrorCache
import MirrorPlatform
public import MirrorStore
import Synchronization

extension BucketMirror {
  /// An answer that was asked for before a change may come after the news of it: then it is marked once more.
  private static let remarkInterval = Duration.seconds(5)

  /// Marks a key as stale, with its absence and the listings that show it; the next use asks the origin. Sends nothing.
  public func heed(_ news: KeyChange) async {
    let root = configuration.prefix.bytes
    guard news.key.bytes.starts(with: root), news.key.bytes.count > root.count else { return }
    await recall(path: Array(news.key.bytes.dropFirst(root.count)))
    let isAsked = mark(news)
    // A directory's marker says nothing of what lies below it.
    if news.key.bytes.last != 0x2F { _ = await cache.catalogue.markStale(news.key) }
    guard isAsked else { return }
    Task { [weak self, sleep] in
      // Until an answer that was under way must have come.
      for _ in 0..<6 {
        await sleep(Self.remarkInterval)
        guard self?.mark(news) == true else { return }
      }
    }
  }

  /// Whether something is under way that may bring what was before.
  private func mark(_ news: KeyChange) -> Bool {
    let path = news.key.bytes.dropFirst(configuration.prefix.bytes.count)
    return change { state, _ in
      guard let id = state.namespace.noteNews(path, isRemoval: news.isRemoval) else { return false }
      let pages = state.pages.keys
      return state.lookups[id] != nil || state.listings[id.directory] != nil
        || pages.contains { state.namespace.mayShow($0, news.key) }
    }
  }
}

extension Namespace {
  /// Whether a page that is under way may tell of a key.
  fileprivate func mayShow(_ page: PageTarget, _ key: ObjectKey) -> Bool {
    switch page {
    case .block(let prefix, let after): key.bytes.starts(with: prefix.bytes) && after < key
    case .directory(let directory): ObjectKey(directories[directory].key) < key
    case .key(let first, in: _): first <= key
    }
  }

  /// The place on a path where its news begin: the first name that is not known, or else the last.
  mutating func noteNews(_ path: ArraySlice<UInt8>, isRemoval: Bool) -> NameID? {
    var directory = 0
    let names = path.split(separator: 0x2F)
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if !isLast, let next = subdirectory(directory, name) {
        directory = next
        continue
      }
      let id = NameID(directory: directory, name: Array(name))
      guard let slot = slot(of: id) else {
        forgetAbsence(directory, name)
        if !isLast {
          // That of the key itself goes with what the catalogue knows of it.
          let key = ObjectKey(directories[directory].key + name)
          effects.changes.append(.absent(key, until: WallTime(milliseconds: 0)))
        }
        expireListing(directory)
        return id
      }
      let isFile = directories[directory].table[slot].kind == .file
      if isFile { _ = expire(directory, name, told: effects.clocks.now) }
      // What is only replaced changes no list of names.
      if isRemoval || !isFile || !isLast { expireListings(from: directory) }
      return id
    }
    return nil
  }

  /// Of a directory, and of those above that might show one that has become empty.
  private mutating func expireListings(from directory: Int) {
    expireListing(directory)
    guard directory != 0, directories[directory].table.live <= 1 else { return }
    expireListings(from: directories[directory].parent)
  }

  private mutating func expireListing(_ directory: Int) {
    directories[directory].expireListing(effects.clocks.now)
    forgetListing(directory)
  }
}
