// What a cache takes over from a seed: names that it never heard of, and content that is proven to be the origin's.
import MirrorPlatform
public import MirrorStore

extension Cache {
  /// Learns the names of its seed as of when that was made, once for each seed; what was learned since then from the
  /// origin counts for more. How many they were.
  @discardableResult
  public func learnSeed() async -> Int {
    guard let seed = shelf.seed else { return 0 }
    return await catalogue.ask(0) { $0.learn(seed, under: self.prefix) }
  }

  /// The seed says that it holds this revision.
  public func isSeeded(_ key: ObjectKey, _ revision: ObjectRevision) -> Bool {
    shelf.seed?.holds(key, revision) ?? false
  }

  /// A copy out of the seed, where that has this revision's bytes and there is room for them; every byte was checked.
  public func adopt(_ key: ObjectKey, _ revision: ObjectRevision) async -> Blob? {
    guard let seed = shelf.seed, let entry = seed.candidate(key, revision) else { return nil }
    guard await makeRoom(revision.size).made else { return nil }
    guard let blob = try? makeBlob(key, ObjectMetadata(revision: revision, storageClass: entry.storageClass)) else {
      giveBack(revision.size)
      return nil
    }
    let isGood = await withCheckedContinuation { continuation in
      startThread("seed") { continuation.resume(returning: blob.fill(from: seed, entry)) }
    }
    giveBack(revision.size - blob.cachedBytes)
    if isGood { return blob }
    retire(blob)
    return nil
  }
}

extension Blob {
  /// False where it is not the revision, or can't be written.
  fileprivate func fill(from seed: Seed, _ entry: SeedEntry) -> Bool {
    let whole = 0..<revision.size
    expectProof(of: whole)
    let writer = writer(at: 0, upTo: revision.size)
    defer { writer.finish() }
    do throws(Errno) {
      let isGood = try seed.read(entry, as: revision) { (bytes) throws(Errno) in
        try unsafe writer.write(bytes.span.bytes)
      }
      guard isGood else {
        seed.refuse(key, revision)
        if entry.revision.sameBytes(as: revision) {
          shelf.log.warning("\(key): what the seed \(seed.directory) has of it is damaged and not used")
        }
        return false
      }
    } catch {
      if error == .noEntry { seed.refuse(key, revision) }
      shelf.log.limited(.warning, key: "seed", "\(key): can't be taken from the seed \(seed.directory): \(error)")
      return false
    }
    writer.finish()
    proven(whole)
    return true
  }
}

extension CatalogueSession {
  fileprivate func learn(_ seed: Seed, under prefix: ObjectKey) -> Int {
    let mark = Int64(bitPattern: seed.identity)
    guard let store, (try? store.meta(.seed)) != .some(mark) else { return 0 }
    let learning = SeedLearning(seed.manifest, prefix)
    guard let changes = read({ (store) throws(SQLiteError) in try learning.changes(store) }) else { return 0 }
    for change in changes { write(.change(change)) }
    if commit() { try? self.store?.setMeta(.seed, mark) }
    return changes.count {
      if case .object = $0 { true } else { false }
    }
  }
}

extension BlobShelf {
  /// What a seed has of a revision is as good as a copy of it.
  func seeded(_ object: CatalogueObject) -> CatalogueObject {
    guard !object.hasBlob, seed?.holds(object.key, object.revision) == true else { return object }
    return CatalogueObject(
      key: object.key, revision: object.revision, storageClass: object.storageClass, validated: object.validated,
      hasBlob: true, said: object.said, described: object.described)
  }
}

/// Which of a seed's names are news to a catalogue.
private struct SeedLearning {
  let manifest: SeedManifest
  let prefix: ObjectKey

  init(_ manifest: SeedManifest, _ prefix: ObjectKey) {
    self.manifest = manifest
    self.prefix = prefix
  }

  func changes(_ store: CatalogueStore) throws(SQLiteError) -> [CatalogueChange] {
    var changes: [CatalogueChange] = []
    // A directory that was listed since then knows better which names there are.
    var isNews: [ObjectKey: Bool] = [:]
    func visit(_ directory: ObjectKey) throws(SQLiteError) -> Bool {
      if let known = isNews[directory] { return known }
      let listing = try store.listing(directory)
      var news = true
      if case .listed(let time)? = listing, time >= manifest.created { news = false }
      if directory.bytes.count > prefix.bytes.count, let parent = KeyParts.parent(ofDirectory: directory) {
        let isParentNews = try visit(ObjectKey(Array(parent)))
        // What is not in a newer listing of its parent is gone.
        if !isParentNews, listing == nil { news = false }
      }
      isNews[directory] = news
      if news {
        let isWhole = directory.bytes.starts(with: manifest.prefix.bytes)
        changes.append(.directory(directory, listed: isWhole ? manifest.created : nil))
      }
      return news
    }
    guard manifest.prefix.bytes.starts(with: prefix.bytes) || prefix.bytes.starts(with: manifest.prefix.bytes) else {
      return []
    }
    _ = try visit(prefix)
    for entry in manifest.entries where entry.key.bytes.starts(with: prefix.bytes) {
      let parts = KeyParts(entry.key)
      let isNew = try visit(ObjectKey(Array(parts.parent)))
      if parts.name.isEmpty { continue }
      let known = try store.object(entry.key)
      guard known.map({ $0.validated < manifest.created }) ?? isNew else { continue }
      if known == nil, try store.absence(entry.key) != nil { continue }
      changes.append(
        .object(entry.key, entry.revision, storageClass: entry.storageClass, validated: manifest.created))
    }
    return changes
  }
}
