// Keys of a bucket, as a listing brings them: each has a name that leads back to it, or is known to be hidden.
import MirrorCache
import MirrorPlatform
import MirrorStore

private let revision = ObjectRevision(etag: EntityTag("\"e\""), size: 1, modified: 1)
private let now = Instant(nanoseconds: 1 << 40)

public func fuzzNames(_ bytes: [UInt8]) {
  var input = FuzzInput(bytes)
  let flags = input.byte()
  let prefix = flags & 1 == 0 ? [] : Array("p/".utf8)
  var keys: [[UInt8]] = []
  while !input.isEmpty, keys.count < 16 {
    // Slashes and dots more often than chance has it.
    var key = input.part(upTo: 0xFF)
    // A long name costs one byte of the input.
    if let at = key.firstIndex(of: 0xFE) { key.replaceSubrange(at...at, with: [UInt8](repeating: 0x61, count: 254)) }
    if !key.isEmpty || !prefix.isEmpty { keys.append(prefix + key) }
  }
  let sorted = Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
  let isOrdered = flags & 2 == 0
  let listed = isOrdered ? sorted : sorted.reversed()
  let flat = tree(prefix) { namespace in
    var scan = ListingScan(base: 0, coversBase: true, since: now, isOrdered: isOrdered)
    let cut = Int(flags >> 2) % (listed.count + 1)
    for page in [Array(listed[..<cut]), Array(listed[cut...])] {
      let isLast = page.count == listed.count - cut
      scan.applyFlat(
        ListPage(objects: page.map(object), prefixes: [], next: isLast ? nil : "t"), requested: now, to: &namespace)
    }
  }
  check(flat, sorted, prefix)
  let delimited = tree(prefix) { namespace in
    var scan = ListingScan(base: 0, coversBase: true, since: now, isOrdered: isOrdered)
    var objects: [[UInt8]] = []
    var groups: [ObjectKey] = []
    for key in listed {
      if let slash = key[prefix.count...].firstIndex(of: 0x2F) {
        let group = ObjectKey(Array(key[...slash]))
        if groups.last != group { groups.append(group) }
      } else {
        objects.append(key)
      }
    }
    scan.applyDelimited(
      ListPage(objects: objects.map(object), prefixes: groups, next: nil), requested: now, to: &namespace)
  }
  promise(names(flat, 0) == names(delimited, 0), "both ways of listing show the same names")
}

private func object(_ key: [UInt8]) -> ListedObject { ListedObject(key: ObjectKey(key), revision: revision) }

private func tree(_ prefix: [UInt8], _ list: (inout Namespace) -> Void) -> Namespace {
  var namespace = Namespace(prefix: ObjectKey(prefix), rules: FreshnessRules())
  namespace.effects.clocks = (now, WallTime(seconds: 1_700_000_000))
  list(&namespace)
  return namespace
}

private func names(_ namespace: Namespace, _ directory: Int) -> [[UInt8]: Entry.Kind] {
  let table = namespace.directories[directory].table
  var names: [[UInt8]: Entry.Kind] = [:]
  for slot in 0..<table.count where table[slot].kind != .none {
    promise(names.updateValue(table[slot].kind, forKey: Array(table.name(slot))) == nil, "a name is there once")
  }
  return names
}

/// What a directory shows leads back to a key, and each key is shown or hidden.
private func check(_ namespace: Namespace, _ keys: [[UInt8]], _ prefix: [UInt8]) {
  let all = Set(keys)
  var shown: Set<[UInt8]> = []
  for directory in namespace.directories.indices {
    let own = namespace.directories[directory].key
    for (name, kind) in names(namespace, directory) {
      promise(!name.isEmpty && name.count <= 255, "a name has 1 to 255 bytes")
      promise(!name.contains(0x2F) && !name.contains(0), "a name has neither a slash nor a NUL")
      promise(name != [0x2E] && name != [0x2E, 0x2E], "a name is not . nor ..")
      promise(KeyName.refusal(name[...]) == nil, "a name can be one")
      if kind == .file {
        promise(all.contains(own + name), "a shown name leads back to exactly the bytes of a key")
        shown.insert(own + name)
      } else {
        promise(keys.contains { $0.starts(with: own + name + [0x2F]) }, "a directory has a key below it")
      }
      guard let slot = namespace.slot(of: NameID(directory: directory, name: name)) else {
        return promise(false, "a shown name is found")
      }
      promise(namespace.key(directory, slot).bytes == own + name, "and is that of its key")
    }
  }
  for key in keys where !shown.contains(key) && namespace.hidden[ObjectKey(key)] == nil {
    promise(key.last == 0x2F || key == prefix, "a key is shown, or hidden for a reason, or marks a directory")
  }
  for key in shown { promise(namespace.hidden[ObjectKey(key)] == nil, "what is shown is not hidden") }
}
