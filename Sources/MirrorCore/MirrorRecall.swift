// What the catalogue remembers from earlier runs, brought into memory when it is first needed.
import MirrorCache
import MirrorPlatform
import MirrorStore
import Synchronization

extension BucketMirror {
  /// All that the catalogue knows is in memory too: nobody need wait for its thread.
  private var remembersAll: Bool {
    cache.catalogue.isNew && state.withLock { !$0.namespace.hasForgottenAbsences }
  }

  /// Brings in what is remembered of one name, be it that it does not exist, and of the listing of its directory.
  func recall(_ id: NameID) async {
    if remembersAll { return }
    await recall(directory: id.directory)
    let key = state.withLock { $0.namespace.directories[id.directory].key } + id.name
    let object = await cache.catalogue.object(ObjectKey(key))
    let listing = await cache.catalogue.listing(ObjectKey(key + [0x2F]))
    let absence = object == nil && listing == nil ? await cache.catalogue.absence(ObjectKey(key)) : nil
    change { state, _ in
      // Another answer may have told meanwhile that it is gone.
      guard state.namespace.slot(of: id) != nil || !state.namespace.isRemembered(id) else { return }
      if let listing { state.remember(id, listing) }
      if let object { state.remember(object, in: id.directory, id.name[...], listed: .distantPast) }
      if let absence { state.namespace.remember(id, absentUntil: absence) }
    }
  }

  /// What the server was met without in earlier runs, and from now on.
  func recallTraits() async {
    let known = await cache.catalogue.lacks()
    traits.remember(known) { [weak cache] lack, met in cache?.catalogue.save(lack, met: met) }
    if traits.lacks(.listedTags) { state.withLock { $0.namespace.listedTagsDiffer = true } }
  }

  /// Brings in when a directory was last listed; its names stay in the catalogue until they are asked for.
  func recall(directory: Int) async {
    if remembersAll { return }
    let key = state.withLock { state in
      state.recalled.contains(directory) ? nil : ObjectKey(state.namespace.directories[directory].key)
    }
    guard let key else { return }
    let listing = await cache.catalogue.listing(key)
    change { state, _ in
      guard state.recalled.insert(directory).inserted, let listing else { return }
      state.namespace.remember(directory, listing)
    }
  }

  /// Brings in all names of a directory.
  func load(directory: Int) async {
    let key = state.withLock { state in
      state.namespace.directories[directory].loaded ? nil : ObjectKey(state.namespace.directories[directory].key)
    }
    guard let key else { return }
    let known = remembersAll ? nil : await cache.catalogue.directory(key)
    change { state, _ in
      guard !state.namespace.directories[directory].loaded else { return }
      state.namespace.directories[directory].loaded = true
      state.recalled.insert(directory)
      guard let known else { return }
      if let stamp = known.listed { state.namespace.remember(directory, .listed(stamp)) }
      let listed = known.listed.map { state.namespace.effects.instant($0) } ?? .distantPast
      for child in known.directories {
        let name = child.bytes[key.bytes.count...].dropLast()
        // What this life has learned of a name counts for more.
        guard KeyName.refusal(name) == nil, state.namespace.directories[directory].table.find(name) == nil else {
          continue
        }
        _ = state.namespace.makeDirectory(directory, name, vouched: listed)
      }
      for object in known.objects where KeyName.refusal(object.key.bytes[key.bytes.count...]) == nil {
        state.remember(object, in: directory, object.key.bytes[key.bytes.count...], listed: listed)
      }
      for absence in known.absences {
        state.namespace.remember(NameID(directory: directory, name: absence.name), absentUntil: absence.until)
      }
      // These rows need not be written again.
      state.namespace.effects.changes = []
    }
  }

  /// Whether the cache holds bytes of a file's current revision.
  func recallCached(_ file: FileID, _ key: ObjectKey) async -> Bool {
    let object = await cache.catalogue.object(key)
    return change { state, _ in
      let (directory, slot) = (Int(file.directory), Int(file.slot))
      let entry = state.namespace.directories[directory].table[slot]
      guard entry.kind == .file else { return false }
      let cached = object.map { $0.hasBlob && $0.revision.sameBytes(as: entry.revision) } ?? false
      if cached { state.namespace.rememberStated(directory, slot, object?.said) }
      if let object, object.revision.sameBytes(as: entry.revision) {
        state.namespace.rememberDescribed(directory, slot, object.described)
      }
      state.namespace.noteCached(directory, slot, cached)
      return cached
    }
  }
}

extension Namespace {
  /// All that the catalogue could tell of a name is known: its directory was listed, or the name was seen.
  func isRemembered(_ id: NameID) -> Bool {
    directories[id.directory].loaded || directories[id.directory].table.find(id.name[...]) != nil
  }

  /// A listing known from an earlier run; it counts from when it was asked for.
  mutating func remember(_ directory: Int, _ listing: RememberedListing) {
    guard case .listed(let stamp) = listing, !directories[directory].hasListing else { return }
    directories[directory].hasListing = true
    directories[directory].listed = effects.instant(stamp)
  }

  /// An absence known from an earlier run. A stamp further ahead than its lifetime is that of a clock that was set back:
  /// then all it tells is that the name was absent once.
  mutating func remember(_ id: NameID, absentUntil stamp: WallTime) {
    guard slot(of: id) == nil, absent[id] == nil else { return }
    let left = stamp - effects.clocks.wall
    let now = effects.clocks.now
    setAbsent(id, until: left <= negativeLifetime(id) ? now + left : now, now: now)
  }
}

extension BucketMirror.State {
  fileprivate mutating func remember(_ id: NameID, _ listing: RememberedListing) {
    guard namespace.slot(of: id) == nil else { return }
    let child = namespace.makeDirectory(id.directory, id.name[...], vouched: .distantPast)
    namespace.remember(child, listing)
    recalled.insert(child)
  }

  /// A file known from an earlier run. What was learned in this one counts for more.
  fileprivate mutating func remember(
    _ object: CatalogueObject, in directory: Int, _ name: ArraySlice<UInt8>, listed: Instant
  ) {
    let place = NameID(directory: directory, name: Array(name))
    let stamp = max(namespace.effects.instant(object.validated), listed, namespace.recalledListing(directory))
    if namespace.slot(of: place) == nil {
      namespace.setFile(
        directory, name, object.revision, storageClass: object.storageClass, vouched: stamp, by: .catalogue)
    }
    guard let slot = namespace.fileSlot(of: place) else { return }
    let current = namespace.directories[directory].table[slot].revision
    guard object.revision.sameBytes(as: current) else { return namespace.noteCached(directory, slot, false) }
    namespace.rememberStated(directory, slot, object.said)
    namespace.rememberDescribed(directory, slot, object.described)
    // A copy that a crash left behind, though it was not to be kept.
    let isLeft = object.hasBlob && namespace.mayNotKeep(directory, slot)
    if isLeft { namespace.effects.unwanted.append((object.key, object.revision)) }
    namespace.noteCached(directory, slot, object.hasBlob && !isLeft)
  }
}

extension Namespace {
  /// A complete listing vouched for every name that was in it and is still in the catalogue.
  fileprivate func recalledListing(_ directory: Int) -> Instant {
    directories[directory].hasListing ? directories[directory].listed : .distantPast
  }
}
