// What a reader of a directory is shown, and whether the kernel may show it again.
import MirrorCache
import MirrorPlatform
import MirrorStore

extension Namespace {
  func mayServeStaleListing(_ directory: Int, _ now: Instant) -> Bool {
    guard directories[directory].hasListing else { return false }
    guard let bound = staleListingBound(directory) else { return true }
    return now < directories[directory].listed + listingLifetime(directory) + bound
  }

  /// Somebody is about to read a directory. Whether the kernel may show him what it showed the last one: that is as it
  /// was, and the kernel need not ask for the names in it, which else are better given with it.
  mutating func noteShown(_ directory: Int, _ now: Instant) -> Bool {
    let table = directories[directory].table
    let before = directories[directory].shown
    if let before, before.version == table.version, before.listed == directories[directory].listed,
      now < before.at + Self.longestTimeout, hasFreshListing(directory, now),
      table.entries.allSatisfy({ $0.kind != .file || $0.link != 0 })
    {
      return true
    }
    directories[directory].shown = Directory.Shown(
      version: table.version, listed: directories[directory].listed, at: now)
    return false
  }

  /// Adds names to an answer until it is full; which nodes it counts, and whether there was no more.
  mutating func collect(
    _ directory: Int, _ reader: ListingFlight.Reader, _ now: Instant
  ) -> (added: [NodeID], reachedEnd: Bool) {
    var added: [NodeID] = []
    guard reader.plus else {
      let reachedEnd = collectPlain(directory, reader, &added)
      return (added, reachedEnd)
    }
    var place = reader.offset
    while let (slot, behind) = reader.next(place, of: directories[directory].table.count) {
      let entry = directories[directory].table[slot]
      place = behind
      guard entry.kind != .none else { continue }
      // Of a file whose metadata are wanted the kernel asks when somebody looks at it.
      let isDescribed = !needsDescription(directory, slot) && !needsRecall(directory, slot)
      let isDirectory = entry.kind == .directory
      let node = isDirectory ? directories[Int(entry.link)].node : isDescribed ? fileNode(directory, slot) : 0
      let shown =
        isDirectory
        ? directoryEntry(Int(entry.link))
        : isDescribed ? fileEntry(directory, slot, now: now) : undescribedEntry(directory, slot)
      let name = directories[directory].table.name(slot)
      guard reader.collector.add(name: name, entry: shown, offset: behind) else {
        if isDescribed, !isDirectory, nodes[node].lookups == 0 { dropUnusedNode(directory, slot) }
        return (added, false)
      }
      if isDescribed {
        nodes.retain(node)
        added.append(nodes.id(node))
      } else if added.isEmpty {
        added.append(.root)
      }
    }
    return (added, true)
  }

  /// READDIR counts no node; the first stands for all that there is something.
  private func collectPlain(_ directory: Int, _ reader: ListingFlight.Reader, _ added: inout [NodeID]) -> Bool {
    let table = directories[directory].table
    let collector = reader.collector
    var place = reader.offset
    while let (slot, behind) = reader.next(place, of: table.count) {
      place = behind
      guard table[slot].kind != .none else { continue }
      let fits = table.withName(slot) { name in
        collector.add(name: name, plain: plainEntry(directory, slot, name), offset: behind)
      }
      guard fits else { return false }
      if added.isEmpty { added.append(.root) }
    }
    return true
  }

  private mutating func dropUnusedNode(_ directory: Int, _ slot: Int) {
    nodes.remove(directories[directory].table[slot].link)
    directories[directory].table.update(slot) { $0.link = 0 }
  }
}
