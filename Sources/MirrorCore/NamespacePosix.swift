// What objects' metadata say of owner, permissions, time and links, and when it is shown.
import MirrorCache
import MirrorPlatform
import MirrorStore

/// What is made of attributes that other tools keep in metadata.
public enum PosixUse: Sendable {
  case ignored
  /// Shown as soon as an answer for the object itself brings them.
  case free
  /// As soon as somebody looks: an object that no answer has described is asked for it.
  case asked
}

extension Namespace {
  /// Nobody has heard yet what the object says, and somebody should ask; without being asked for it, where it said
  /// something and its date has moved since: an answer that nothing else has changed does not repeat it.
  func needsDescription(_ directory: Int, _ slot: Int) -> Bool {
    let entry = directories[directory].table[slot]
    guard posixUse != .ignored, entry.kind == .file, !entry.isDescribed else { return false }
    return posixUse == .asked || posix(directory, slot) != nil
  }

  /// Whether the catalogue is to be asked before a file is shown.
  func needsRecall(_ directory: Int, _ slot: Int) -> Bool {
    let entry = directories[directory].table[slot]
    guard entry.kind == .file, !entry.isDescribed, !entry.recalled, !entry.isExpired else { return false }
    return recallsDescriptions || posixUse == .asked
  }

  func posix(_ directory: Int, _ slot: Int) -> PosixMetadata? {
    posix.isEmpty ? nil : posix[FileID(directory, slot)]
  }

  /// An answer for a file's current revision says this. The attributes of a node that the kernel has change with its
  /// next look-up, as those of any file may; what kind of file it is never does.
  mutating func noteDescribed(_ directory: Int, _ slot: Int, _ said: PosixMetadata?) {
    guard posixUse != .ignored else { return }
    let id = FileID(directory, slot)
    let before = posix[id]
    let wasDescribed = directories[directory].table[slot].isDescribed
    if wasDescribed, before == said { return }
    setDescribed(directory, slot, said)
    // That most objects say nothing need not be remembered where nobody is asked for it.
    if said == nil, before == nil, posixUse == .free { return }
    effects.changes.append(.described(key(directory, slot), said?.text ?? ""))
    guard before != said else { return }
    directories[directory].table.noteChange()
    if said?.isLink ?? false == before?.isLink ?? false {
      expireForKernel(directory, slot)
    } else {
      // Once nobody uses the old node a look-up makes a new one.
      askToForget(directory, slot)
    }
  }

  /// What the catalogue remembers.
  mutating func rememberDescribed(_ directory: Int, _ slot: Int, _ text: String?) {
    guard posixUse != .ignored, let text, !directories[directory].table[slot].isDescribed else { return }
    setDescribed(directory, slot, text.isEmpty ? nil : PosixMetadata(text: text))
  }

  private mutating func setDescribed(_ directory: Int, _ slot: Int, _ said: PosixMetadata?) {
    posix[FileID(directory, slot)] = said
    directories[directory].table.update(slot) { $0.isDescribed = true }
  }
}

extension PosixMetadata {
  var told: NodeAttributes.Told {
    var told = NodeAttributes.Told()
    (told.permissions, told.owner, told.group) = (permissions, owner, group)
    (told.modified, told.nanoseconds) = (modified?.seconds, modified?.nanoseconds ?? 0)
    return told
  }
}

extension Namespace {
  /// Where a symbolic link leads, if its metadata tell.
  func linkTarget(of id: NodeID) -> [UInt8]? {
    guard let index = nodes.index(id) else { return nil }
    let node = nodes[index]
    switch node.role {
    case .file: return posix(Int(node.directory), Int(node.slot))?.target
    case .superseded: return nodes.superseded[index]?.posix?.target
    case .directory, .free: return nil
    }
  }
}
