// The tree as it is known: directories, names, revisions and nodes. One value, changed under one lock.
import MirrorCache
import MirrorPlatform
import MirrorStore

/// A directory of the mount; it has no freshness of its own, its listing has.
struct Directory {
  /// The full key, with a trailing `/`; empty at the root of a bucket.
  let key: [UInt8]
  let parent: Int
  let slotInParent: Int
  var node: UInt32 = 0
  var table = EntryTable()
  /// When the request of the last complete listing was sent.
  var listed: Instant = .distantPast
  /// When somebody last told that the listing is to be asked for again: no earlier one counts.
  private(set) var expired: Instant = .distantPast
  /// A complete listing is known, fresh or not.
  var hasListing = false
  /// All that the catalogue knows of it is in memory.
  var loaded = false
  /// What was seen directly in it.
  var holds = ValidationPlanner.Neighbours()
  /// Last-Modified of its marker object, else 0: never "now".
  var modified: Int64 = 0
  /// What the kernel was last shown of it.
  var shown: Shown?

  mutating func expireListing(_ now: Instant) { (listed, expired) = (.distantPast, now) }

  struct Shown {
    let version: UInt32
    let listed: Instant
    let at: Instant
  }
}

/// A name in a directory.
struct NameID: Hashable {
  let directory: Int
  let name: [UInt8]
}

struct Namespace {
  /// A validation counts for every look-up within this time after its answer: the kernel asks twice for a new node.
  static let grace = Duration.milliseconds(100)
  static let longestTimeout = Duration.seconds(600)

  var rules: FreshnessRules
  let prefixLength: Int
  var directories: [Directory]
  var nodes = NodeTable()
  /// What objects said of their own freshness, of the few that say something. See `NamespaceFreshness.swift`.
  var stated: [FileID: StatedFreshness] = [:]
  /// Versions of current revisions, where an answer named one. See `NamespaceVersions.swift`.
  var versions: [FileID: String] = [:]
  /// What metadata say of files, of those that say something. See `NamespacePosix.swift`.
  var posix: [FileID: PosixMetadata] = [:]
  let posixUse: PosixUse
  /// The catalogue may know more of them than answers told in this life.
  var recallsDescriptions = false
  /// Names known to be absent, until when.
  private(set) var absent: [NameID: Instant] = [:]
  /// There were more than memory is for: the catalogue knows of some that are not in it.
  private(set) var hasForgottenAbsences = false
  private(set) var hidden: [ObjectKey: KeyName.HiddenReason] = [:]
  /// Files that listings showed under the names of directories: they show when those vanish.
  private var shadowed: [FileID: Shadowed] = [:]

  private struct Shadowed {
    let revision: ObjectRevision
    let storageClass: String?
    let vouched: Instant
  }
  private var storageClasses: [String] = ["STANDARD"]
  /// Listings of this endpoint show other ETags than its GETs: they prove presence only.
  var listedTagsDiffer = false
  /// What must be done about the last changes once the lock is released.
  var effects = Effects()

  init(prefix: ObjectKey, rules: FreshnessRules, posixUse: PosixUse = .free) {
    self.rules = rules
    self.posixUse = posixUse
    prefixLength = prefix.bytes.count
    directories = [Directory(key: prefix.bytes, parent: 0, slotInParent: 0)]
    directories[0].node = nodes.add(.directory, directory: 0, slot: 0)
  }

  // MARK: Keys and paths

  func key(_ directory: Int, _ slot: Int) -> ObjectKey {
    ObjectKey(directories[directory].key + directories[directory].table.name(slot))
  }

  /// Relative to the mount root, without a trailing slash.
  func path(_ directory: Int, _ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    (directories[directory].key + name)[prefixLength...]
  }

  /// The directory behind a child's name, if it is one.
  func subdirectory(_ directory: Int, _ name: ArraySlice<UInt8>) -> Int? {
    guard let slot = directories[directory].table.find(name) else { return nil }
    let entry = directories[directory].table[slot]
    return entry.kind == .directory ? Int(entry.link) : nil
  }

  func storageClass(_ entry: Entry) -> String { storageClasses[Int(entry.storageClass)] }

  private mutating func storageClassIndex(_ name: String?) -> UInt8 {
    guard let name else { return 0 }
    if let index = storageClasses.firstIndex(of: name) { return UInt8(index) }
    guard storageClasses.count < 255 else { return 0 }
    storageClasses.append(name)
    return UInt8(storageClasses.count - 1)
  }

  // MARK: Names that are there

  /// The directory `name` in a directory, made known; `vouched` is when the request that showed it was sent.
  mutating func makeDirectory(_ parent: Int, _ name: ArraySlice<UInt8>, vouched: Instant) -> Int {
    let slot = directories[parent].table.slot(for: name)
    let entry = directories[parent].table[slot]
    forgetAbsence(parent, name)
    if entry.kind == .directory {
      directories[parent].table.update(slot) { $0.validated = max($0.validated, vouched) }
      return Int(entry.link)
    }
    if entry.kind == .file {
      // The directory wins: its children would else be out of reach.
      let key = key(parent, slot)
      hide(key, .shadowed)
      shadowed[FileID(parent, slot)] = Shadowed(
        revision: revision(parent, slot), storageClass: storageClass(entry), vouched: entry.validated)
      removeFile(parent, slot)
    }
    let index = directories.count
    directories.append(Directory(key: directories[parent].key + name + [0x2F], parent: parent, slotInParent: slot))
    directories[index].node = nodes.add(.directory, directory: index, slot: slot)
    directories[parent].holds.directories = true
    directories[parent].table.update(slot) {
      $0 = Entry()
      $0.kind = .directory
      $0.link = UInt32(index)
      $0.validated = vouched
    }
    effects.changes.append(.directory(ObjectKey(directories[index].key), listed: nil))
    return index
  }

  /// What the origin (or the catalogue) said of a file at `vouched`.
  enum Sighting { case listing, object, catalogue }
  enum FileChange { case unchanged, added, superseded, hidden, outdated }

  @discardableResult
  mutating func setFile(
    _ directory: Int, _ name: ArraySlice<UInt8>, _ seen: ObjectRevision, storageClass: String?, vouched: Instant,
    by sighting: Sighting
  ) -> FileChange {
    let slot = directories[directory].table.slot(for: name)
    let entry = directories[directory].table[slot]
    let listed = sighting == .listing
    if sighting == .object { vouchForWay(to: directory, vouched) }
    let revision =
      listed && listedTagsDiffer
      ? ObjectRevision(etag: nil, size: seen.size, modified: seen.modified, version: seen.version) : seen
    switch entry.kind {
    case .directory:
      hide(key(directory, slot), .shadowed)
      if listed {
        shadowed[FileID(directory, slot)] = Shadowed(revision: seen, storageClass: storageClass, vouched: vouched)
      }
      return .hidden
    case .file where entry.revision.sameBytes(as: revision):
      freshen(directory, slot, revision, vouched: vouched, confirmed: !listed)
      return .unchanged
    case .file:
      // An answer older than what is held must not undo it.
      if vouched < entry.validated && (!entry.isExpired || entry.wasTold(since: vouched)) { return .outdated }
      supersede(directory, slot)
    case .none:
      forgetAbsence(directory, name)
    }
    let classIndex = storageClassIndex(storageClass)
    let recalled = entry.kind == .file || directories[directory].loaded
    directories[directory].table.update(slot) {
      $0 = Entry()
      $0.kind = .file
      $0.revision = revision
      $0.storageClass = classIndex
      $0.validated = vouched
      // What somebody has told since counts for it too.
      if entry.wasTold(since: vouched) { $0.expire(told: entry.answered) }
      $0.listedOnly = listed
      $0.isUncounted = listed
      // Of a revision never seen before the cache holds nothing; of a name first seen it may.
      $0.recalled = recalled
    }
    if let version = revision.version { versions[FileID(directory, slot)] = version }
    directories[directory].holds.files = true
    if sighting != .catalogue {
      let validated = entry.wasTold(since: vouched) ? .distantPast : vouched
      effects.changes.append(
        .object(key(directory, slot), revision, storageClass: storageClass, validated: effects.wall(validated)))
    }
    return entry.kind == .file ? .superseded : .added
  }

  /// The revision is still current.
  mutating func freshen(
    _ directory: Int, _ slot: Int, _ seen: ObjectRevision?, vouched: Instant, confirmed: Bool
  ) {
    let moved = directories[directory].table.update(slot) { (entry: inout Entry) -> Bool in
      entry.vouch(vouched)
      entry.isUncounted = !confirmed
      if confirmed { entry.listedOnly = false }
      guard let seen else { return false }
      let old = entry.revision
      let tag = confirmed ? seen.etag ?? old.etag : old.etag ?? seen.etag
      entry.revision = ObjectRevision(etag: tag, size: old.size, modified: seen.modified ?? old.modified)
      // Metadata change by a copy onto itself, which moves the date: they are to be heard again.
      if seen.modified != nil, entry.revision.modified != old.modified { entry.isDescribed = false }
      return entry.revision != old
    }
    let entry = directories[directory].table[slot]
    if noteVersion(directory, slot, seen?.version) || moved {
      effects.changes.append(
        .object(
          key(directory, slot), revision(directory, slot), storageClass: storageClass(entry),
          validated: effects.wall(entry.isExpired ? .distantPast : vouched)))
    } else if confirmed, !entry.isExpired {
      effects.changes.append(.validated([key(directory, slot)], effects.wall(vouched)))
    }
  }

  // MARK: Names that go

  /// The current revision of a name gives way: whoever still uses it keeps its node.
  mutating func supersede(_ directory: Int, _ slot: Int) {
    let entry = directories[directory].table[slot]
    let key = key(directory, slot)
    let revision = revision(directory, slot)
    directories[directory].table.noteChange()
    effects.retired.append(Retirement(key: key, revision: revision, file: FileID(directory, slot)))
    if revision.version != nil { versions[FileID(directory, slot)] = nil }
    if entry.stated == .something { stated[FileID(directory, slot)] = nil }
    defer { if !posix.isEmpty { posix[FileID(directory, slot)] = nil } }
    guard entry.link != 0 else { return }
    effects.retired[effects.retired.count - 1].node = entry.link
    nodes.supersede(
      entry.link, by: SupersededRevision(key: key, revision: revision, posix: posix(directory, slot)))
    effects.notices.append(
      .expire(nodes.id(directories[directory].node), Array(directories[directory].table.name(slot))))
    directories[directory].table.update(slot) { $0.link = 0 }
  }

  mutating func removeFile(_ directory: Int, _ slot: Int) {
    let inUse = directories[directory].table[slot].link != 0
    supersede(directory, slot)
    directories[directory].table.update(slot) { $0.kind = .none }
    effects.changes.append(.removed(key(directory, slot)))
    if inUse {
      effects.notices[effects.notices.count - 1] = .invalidate(
        nodes.id(directories[directory].node), Array(directories[directory].table.name(slot)))
    }
  }

  /// A directory without a key below it is gone; its number stays, in case somebody stands in it. A file that it hid
  /// shows, if it was seen at or after `since`.
  mutating func removeDirectory(_ directory: Int, since: Instant? = nil) {
    guard directory != 0 else { return }
    let (parent, slot) = (directories[directory].parent, directories[directory].slotInParent)
    guard directories[parent].table[slot].kind == .directory,
      Int(directories[parent].table[slot].link) == directory
    else { return }
    for slot in 0..<directories[directory].table.count {
      let entry = directories[directory].table[slot]
      if entry.kind == .file { removeFile(directory, slot) }
      if entry.kind == .directory { removeDirectory(Int(entry.link)) }
    }
    directories[parent].table.update(slot) { $0.kind = .none }
    effects.changes.append(.directoryRemoved(ObjectKey(directories[directory].key)))
    effects.notices.append(.expire(nodes.id(directories[parent].node), Array(directories[parent].table.name(slot))))
    guard let file = shadowed.removeValue(forKey: FileID(parent, slot)), let since, file.vouched >= since,
      file.vouched >= directories[parent].listed
    else { return }
    hidden[key(parent, slot)] = nil
    setFile(
      parent, directories[parent].table.name(slot), file.revision, storageClass: file.storageClass,
      vouched: file.vouched, by: .listing)
  }

  /// What is in a directory is there: so is the directory, and those that it lies in.
  private mutating func vouchForWay(to directory: Int, _ vouched: Instant) {
    var child = directory
    while child != 0 {
      let (parent, slot) = (directories[child].parent, directories[child].slotInParent)
      guard directories[parent].table[slot].validated < vouched else { return }
      directories[parent].table.update(slot) { $0.validated = vouched }
      child = parent
    }
  }

  /// All names of a directory were listed by requests sent at or after `since`: what they did not show is gone.
  mutating func completeListing(_ directory: Int, since: Instant, emptyMeansGone: Bool) {
    for slot in 0..<directories[directory].table.count {
      let entry = directories[directory].table[slot]
      guard entry.kind != .none, entry.validated < since else { continue }
      if entry.kind == .file { removeFile(directory, slot) } else { removeDirectory(Int(entry.link), since: since) }
    }
    let isCurrent = since >= directories[directory].expired
    if isCurrent { directories[directory].listed = max(directories[directory].listed, since) }
    directories[directory].hasListing = true
    let stamp = effects.wall(isCurrent ? since : .distantPast)
    if directories[directory].table.live > 0 { vouchForWay(to: directory, since) }
    if emptyMeansGone, directories[directory].table.live == 0 {
      removeDirectory(directory, since: .distantPast)
    } else if directories[directory].loaded {
      effects.changes.append(.directory(ObjectKey(directories[directory].key), listed: stamp))
    } else {
      // The catalogue may remember names that were never brought into memory.
      effects.changes.append(
        .contents(ObjectKey(directories[directory].key), names: liveNames(directory), listed: stamp))
    }
    directories[directory].loaded = true
    directories[directory].table.settle()
  }

  /// The names in a directory, those of directories with their `/`.
  private func liveNames(_ directory: Int) -> [[UInt8]] {
    (0..<directories[directory].table.count).compactMap { slot in
      switch directories[directory].table[slot].kind {
      case .none: nil
      case .file: Array(directories[directory].table.name(slot))
      case .directory: directories[directory].table.name(slot) + [0x2F]
      }
    }
  }

  // MARK: Names that are not there

  mutating func setAbsent(_ id: NameID, until: Instant, now: Instant) {
    if absent.count >= 50_000 {
      absent = absent.filter { $0.value > now }
      if absent.count >= 50_000 { (absent, hasForgottenAbsences) = ([:], true) }
    }
    absent[id] = until
  }

  mutating func forgetAbsence(_ directory: Int, _ name: ArraySlice<UInt8>) {
    guard !absent.isEmpty, absent.removeValue(forKey: NameID(directory: directory, name: Array(name))) != nil else {
      return
    }
    effects.notices.append(.invalidate(nodes.id(directories[directory].node), Array(name)))
  }

  mutating func hide(_ key: ObjectKey, _ reason: KeyName.HiddenReason) {
    guard hidden[key] == nil, hidden.count < 100_000 else { return }
    hidden[key] = reason
    effects.hidden.append((key, reason))
  }
}
