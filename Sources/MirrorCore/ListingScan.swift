// Turns the pages of one listing into names, and knows which directories it has seen whole.
import MirrorPlatform
import MirrorStore

/// One listing under way, from its prefix on: flat (all keys below) or delimited (one directory).
struct ListingScan {
  /// The directory that the prefix begins in.
  let base: Int
  /// The prefix is the base's own key: the base is seen whole when the listing ends.
  let coversBase: Bool
  /// When the request for the first page was sent: nothing is vouched for as of later.
  let since: Instant
  /// Directories that the last key lies in, outermost first; all but the base were entered by this scan.
  private var path: [Int]
  /// How many keys came before the first of each of them.
  private var entered = [0]
  private var keys = 0
  private(set) var sawKeys = false
  /// Directories that were seen whole.
  private(set) var completed: [Int] = []

  /// Where it begins: a directory that this key lies in was not seen whole.
  private let start: [UInt8]

  /// Keys come in their order. Where they don't, nothing is seen whole before the listing has ended.
  let isOrdered: Bool
  /// Directories that keys were met in, where they come in no order.
  private var met: Set<Int> = []

  init(base: Int, coversBase: Bool, since: Instant, after start: [UInt8] = [], isOrdered: Bool = true) {
    self.base = base
    self.coversBase = coversBase
    self.since = since
    self.start = start
    self.isOrdered = isOrdered
    path = [base]
  }

  /// A key that sorts after everything in this directory that a sane bucket holds.
  static func end(of directory: [UInt8]) -> ObjectKey { ObjectKey(directory + [0xF4, 0x8F, 0xBF, 0xBF]) }

  /// Takes in a page of a flat listing.
  mutating func applyFlat(_ page: ListPage, requested: Instant, to namespace: inout Namespace) {
    for object in page.objects { add(object, requested: requested, to: &namespace) }
    if page.next == nil { finish(&namespace) }
  }

  /// Takes in a page of a delimited listing of the base.
  mutating func applyDelimited(_ page: ListPage, requested: Instant, to namespace: inout Namespace) {
    for object in page.objects { add(object, requested: requested, to: &namespace) }
    for prefix in page.prefixes {
      sawKeys = true
      guard let child = child(of: prefix.bytes, &namespace) else { continue }
      if let reason = KeyName.refusal(child) {
        namespace.hide(prefix, reason)
      } else {
        _ = namespace.makeDirectory(base, child, vouched: requested)
      }
    }
    if page.next == nil { finish(&namespace) }
  }

  /// The directories in which the scan stands when it stops short.
  var unfinished: [Int] { isOrdered ? path : [] }

  /// Those of them that a page of their own would not hold, or hardly. One that the page's end merely cut off is not.
  var large: [Int] {
    if !isOrdered { return [base] }
    return path.indices.filter { entered[$0] == 0 || 2 * (keys - entered[$0]) > keys }.map { path[$0] }
  }

  /// The last key or prefix of the pages so far.
  private(set) var lastKey: [UInt8] = []
  mutating func noteEnd(of page: ListPage) {
    if let last = [page.objects.last?.key, page.prefixes.last].compactMap(\.self).max() { lastKey = last.bytes }
  }

  /// Goes on with the base's own names only; the position after the last key, past the subdirectory it lies in.
  mutating func narrow(after last: ObjectKey, _ namespace: Namespace) -> ObjectKey {
    let next = path.count > 1 ? Self.end(of: namespace.directories[path[1]].key) : last
    (path, entered) = ([base], [0])
    lastKey = next.bytes
    return next
  }

  private func child(of key: [UInt8], _ namespace: inout Namespace) -> ArraySlice<UInt8>? {
    let length = namespace.directories[base].key.count
    guard key.count > length, key.last == 0x2F, key.starts(with: namespace.directories[base].key) else { return nil }
    return key[length..<(key.count - 1)]
  }

  private mutating func add(_ object: ListedObject, requested: Instant, to namespace: inout Namespace) {
    let key = object.key.bytes
    guard key.starts(with: namespace.directories[base].key) else { return }
    sawKeys = true
    if isOrdered { leave(until: key, &namespace) }
    defer { keys += 1 }
    var directory = path[path.count - 1]
    var start = namespace.directories[directory].key.count
    while let slash = key[start...].firstIndex(of: 0x2F) {
      if let reason = KeyName.refusal(key[start..<slash]) {
        namespace.hide(object.key, reason)
        return
      }
      directory = namespace.makeDirectory(directory, key[start..<slash], vouched: requested)
      if isOrdered {
        path.append(directory)
        entered.append(keys)
      } else {
        met.insert(directory)
      }
      start = slash + 1
    }
    guard start < key.count else {
      namespace.directories[directory].modified = object.revision.modified ?? 0
      if object.revision.size > 0 { namespace.hide(object.key, .markerContent) }
      return
    }
    if let reason = KeyName.refusal(key[start...]) {
      namespace.hide(object.key, reason)
      return
    }
    namespace.setFile(
      directory, key[start...], object.revision, storageClass: object.storageClass, vouched: requested, by: .listing)
  }

  /// Keys come in order: a directory that the next key is not in has been seen whole.
  private mutating func leave(until key: [UInt8], _ namespace: inout Namespace) {
    while path.count > 1, !key.starts(with: namespace.directories[path[path.count - 1]].key) {
      entered.removeLast()
      complete(path.removeLast(), &namespace)
    }
  }

  private mutating func complete(_ directory: Int, _ namespace: inout Namespace) {
    if start.starts(with: namespace.directories[directory].key) { return }
    namespace.completeListing(directory, since: since, emptyMeansGone: false)
    completed.append(directory)
  }

  private mutating func finish(_ namespace: inout Namespace) {
    while path.count > 1 { complete(path.removeLast(), &namespace) }
    for directory in met { complete(directory, &namespace) }
    if coversBase {
      namespace.completeListing(base, since: since, emptyMeansGone: !sawKeys)
      completed.append(base)
    }
  }
}
