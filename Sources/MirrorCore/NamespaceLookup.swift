// What a look-up can be told from memory, and what must be asked first.
import MirrorCache
import MirrorPlatform
import MirrorStore

/// What a look-up needs to know before it can be answered.
struct Question {
  enum Subject {
    /// Nothing is in memory; the catalogue may know.
    case recall
    /// The revision of a known file is stale.
    case validate(slot: Int, ObjectRevision, cached: Bool, recalled: Bool)
    /// What its metadata say of the file is wanted.
    case describe(slot: Int)
    /// Nobody knows this name.
    case discover(beside: ValidationPlanner.Neighbours, wasAbsent: Bool)
  }
  let id: NameID
  let key: ObjectKey
  let subject: Subject
}

extension Namespace {
  enum Decision {
    case answer(LookupAnswer)
    case ask(Question)
  }

  /// Decides from memory; `recalled` when the catalogue was asked already.
  mutating func lookUp(_ directory: Int, _ name: [UInt8], recalled: Bool, now: Instant) -> Decision {
    let id = NameID(directory: directory, name: name)
    let key = ObjectKey(directories[directory].key + name)
    if let slot = directories[directory].table.find(name[...]) {
      let entry = directories[directory].table[slot]
      if entry.kind == .directory { return .answer(answer(directory, slot, now: now)) }
      if entry.kind == .file {
        if !recalled, needsRecall(directory, slot) { return .ask(Question(id: id, key: key, subject: .recall)) }
        if needsDescription(directory, slot) {
          return .ask(Question(id: id, key: key, subject: .describe(slot: slot)))
        }
        if isFresh(directory, slot, now) { return .answer(answer(directory, slot, now: now)) }
        // Under `origin` the catalogue may know what the object said, and whether there is a copy at all.
        if !entry.recalled, !recalled, !entry.isExpired, rules.readsOrigin {
          return .ask(Question(id: id, key: key, subject: .recall))
        }
        let subject = Question.Subject.validate(
          slot: slot, entry.revision, cached: entry.cached, recalled: entry.recalled)
        return .ask(Question(id: id, key: key, subject: subject))
      }
    }
    if !directories[directory].loaded && !recalled && absent[id] == nil {
      return .ask(Question(id: id, key: key, subject: .recall))
    }
    let known = absent[id]
    if let known, known > now { return .answer(.absent(timeout: known - now)) }
    // A fresh listing speaks for a name once; after that its absence has a lifetime of its own.
    if known == nil, hasFreshListing(directory, now) { return .answer(noteAbsent(id, now: now)) }
    return .ask(
      Question(
        id: id, key: key,
        subject: .discover(beside: directories[directory].holds, wasAbsent: known != nil)))
  }

  /// The name does not exist, as of now.
  mutating func noteAbsent(_ id: NameID, now: Instant) -> LookupAnswer {
    let lifetime = negativeLifetime(id)
    setAbsent(id, until: now + lifetime, now: now)
    // A shorter one would be over before a restart could use it.
    if lifetime >= .seconds(1) {
      let key = ObjectKey(directories[id.directory].key + id.name)
      effects.changes.append(.absent(key, until: effects.wall(now + lifetime)))
    }
    return .absent(timeout: min(lifetime, Self.longestTimeout))
  }

  /// A file is gone, as of now; whether a directory has its name is not known. It counts for those who asked.
  mutating func noteMissing(_ id: NameID, now: Instant) {
    setAbsent(id, until: now + min(negativeLifetime(id), Self.grace), now: now)
  }

  /// A live name's answer, counted for so many look-ups.
  mutating func answer(_ directory: Int, _ slot: Int, count: UInt64 = 1, now: Instant) -> LookupAnswer {
    let entry = directories[directory].table[slot]
    if entry.kind == .directory {
      nodes.retain(directories[Int(entry.link)].node, count)
      return .found(directoryEntry(Int(entry.link)))
    }
    nodes.retain(fileNode(directory, slot), count)
    return .found(fileEntry(directory, slot, now: now))
  }

  func directoryEntry(_ directory: Int) -> NodeEntry {
    NodeEntry(
      attributes: directoryAttributes(directory), entryTimeout: Self.longestTimeout,
      attributeTimeout: Self.longestTimeout)
  }

  func fileEntry(_ directory: Int, _ slot: Int, now: Instant) -> NodeEntry {
    let entry = directories[directory].table[slot]
    let remaining = entry.isExpired ? .zero : entry.validated + lifetime(directory, slot) - now
    return NodeEntry(
      attributes: fileAttributes(
        entry.link, directory, directories[directory].table.name(slot), entry.revision, posix(directory, slot)),
      entryTimeout: min(max(remaining, .zero), Self.longestTimeout), attributeTimeout: Self.longestTimeout)
  }

  /// The node of a name's current revision, made when the kernel has none.
  mutating func fileNode(_ directory: Int, _ slot: Int) -> UInt32 {
    let known = directories[directory].table[slot].link
    if known != 0 { return known }
    let isLink = posix(directory, slot)?.isLink ?? false
    let node = nodes.add(.file, directory: directory, slot: slot, isLink: isLink)
    directories[directory].table.update(slot) { $0.link = node }
    return node
  }

  func directoryAttributes(_ directory: Int) -> NodeAttributes {
    NodeAttributes(
      node: nodes.id(directories[directory].node),
      inode: directory == 0 ? 1 : inode(stableHash(directories[directory].key)), isDirectory: true, size: 4096,
      modified: directories[directory].modified)
  }

  /// What READDIR tells: no attributes but the number.
  func plainEntry(_ directory: Int, _ slot: Int, _ name: Span<UInt8>) -> PlainEntry {
    let entry = directories[directory].table[slot]
    if entry.kind == .directory {
      let child = directories[Int(entry.link)].key
      return PlainEntry(inode: inode(stableHash(child)), kind: .directory)
    }
    let tagged = stableHash(directories[directory].key[...], seed: entry.tagFingerprint)
    return PlainEntry(
      inode: inode(stableHash(name, seed: tagged)), kind: posix(directory, slot)?.isLink ?? false ? .link : .file)
  }

  /// What READDIRPLUS tells of a file that it does not know all about: no node.
  func undescribedEntry(_ directory: Int, _ slot: Int) -> NodeEntry {
    let number = inode(directory, directories[directory].table.name(slot), directories[directory].table[slot].revision)
    return NodeEntry(
      attributes: NodeAttributes(
        node: NodeID(rawValue: 0), inode: number, isDirectory: false, size: 0, modified: 0,
        isLink: posix(directory, slot)?.isLink ?? false),
      entryTimeout: .zero, attributeTimeout: .zero)
  }

  private func fileAttributes(
    _ node: UInt32, _ directory: Int, _ name: ArraySlice<UInt8>, _ revision: ObjectRevision, _ posix: PosixMetadata?
  ) -> NodeAttributes {
    let isLink = node == 0 ? posix?.isLink ?? false : nodes[node].isLink
    let target = isLink ? posix?.target : nil
    return NodeAttributes(
      node: node == 0 ? NodeID(rawValue: 0) : nodes.id(node), inode: inode(directory, name, revision),
      isDirectory: false, size: target.map { Int64($0.count) } ?? revision.size, modified: revision.modified ?? 0,
      isLink: isLink, told: posix?.told)
  }

  private func inode(_ directory: Int, _ name: ArraySlice<UInt8>, _ revision: ObjectRevision) -> UInt64 {
    let tagged = stableHash(directories[directory].key[...], seed: revision.etag?.fingerprint ?? 0)
    return inode(stableHash(name, seed: tagged))
  }

  /// 0 and 1 have meanings of their own, and some programs read inode numbers as signed.
  private func inode(_ hash: UInt64) -> UInt64 { max(2, hash >> 1) }

  func attributes(of id: NodeID) -> NodeAttributes? {
    guard let index = nodes.index(id) else { return nil }
    let node = nodes[index]
    switch node.role {
    case .directory: return directoryAttributes(Int(node.directory))
    case .file:
      let (directory, slot) = (Int(node.directory), Int(node.slot))
      let table = directories[directory].table
      return fileAttributes(index, directory, table.name(slot), table[slot].revision, posix(directory, slot))
    case .superseded:
      guard let old = nodes.superseded[index] else { return nil }
      let directory = Int(node.directory)
      let name = old.key.bytes[directories[directory].key.count...]
      return fileAttributes(index, directory, name, old.revision, old.posix)
    case .free: return nil
    }
  }
}
